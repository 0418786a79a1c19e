#!/usr/bin/env bash
# Measures all figures of benchmarks/results/planner.md: instances, scale, orders, and the command.
# Usage: benchmarks/planner.sh [BUILD_FOLDER [SHARED_DATA]]   (build/release, ../shared/data)
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
data=${2:-../shared/data}/dsa
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "MiniMalloc's instances within the capacity of its authors"
"$build/planner_benchmark" --capacity=1048576 --time=20000 "$data"/minimalloc-*.csv

echo "variants of them within it, a second each"
mkdir "$work/variants"
benchmarks/buffer_variants.py "$work/variants" "$data"/minimalloc-*.csv
"$build/planner_benchmark" --capacity=1048576 --time=1000 "$work"/variants/*.csv || true

echo "as small as can be, in the default time"
"$build/planner_benchmark" "$data"/*.csv

echo "ten seconds where the bound is not met"
"$build/planner_benchmark" --time=10000 "$data/minimalloc-J.csv" "$data/iopddl-S1.csv"

echo "twenty made-up training steps, five seconds where the bound is not met"
"$build/planner_benchmark" --time=5000 --training=20

echo "a million buffers"
"$build/planner_benchmark" --synthetic=1000000

echo "the command on a million rows: read, planned, drawn"
"$build/synthetic_buffers" 1000000 7 >"$work/million.csv"
time "$build/ashlar" plan "$work/million.csv" --quiet -o "$work/million.svg"
stat -c '%s bytes of picture' "$work/million.svg"
"$build/ashlar" plan "$work/million.csv" --quiet \
  --compare naive,best_fit,pushdown,interval_move,dive,exact | tail -n 7

echo "the zoo: as exported and fused, in MegEngine's order and in that of least peak"
for model in "resnet18 1" "resnet50 1" "resnet50 10" "vgg19 1" "mobilenet_v2 1" "squeezenet 1" \
  "inception_v1 1"; do
  "$build/ashlar" zoo "${model% *}" --batch "${model#* }" -o "$work/model.ash" --quiet >/dev/null
  for passes in none all; do
    for scheduler in megengine memory; do
      printf '%-15s %-5s %-10s ' "$model" "$passes" "$scheduler"
      "$build/ashlar" plan "$work/model.ash" --passes "$passes" --scheduler "$scheduler" |
        grep -oE '^arena .*bytes.*|planned in .*' | paste -sd' '
    done
  done
done
