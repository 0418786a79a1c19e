#!/usr/bin/env bash
# The main job: builds Ashlar, writes ResNet-50, runs it, profiles it, and proves its memory plan.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "1/5 packages and build"
scripts/install_packages.sh
scripts/configure.sh release
cmake --build --preset release --target ashlar
ashlar=build/release/ashlar

step "2/5 the model: resnet50.ash"
if [ -f resnet50.ash ] && "$ashlar" inspect resnet50.ash >/dev/null 2>&1; then
  echo "resnet50.ash is there"
else
  "$ashlar" zoo resnet50 --batch 10 -o resnet50.ash
fi

step "3/5 inference: top 5 of each image (seeded weights, so the classes mean nothing)"
"$ashlar" run resnet50.ash --top 5

step "4/5 latency and profile: profile.json, trace.json"
"$ashlar" profile resnet50.ash --dump profile.json --trace trace.json --top 10
"$ashlar" bench resnet50.ash --warmup 2 --iterations 10

step "5/5 memory: planned and actual"
"$ashlar" verify resnet50.ash
