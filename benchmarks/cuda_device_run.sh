#!/usr/bin/env bash
# On a machine with a GPU: tests, memory checks, accuracy and speed of what cuda_device_pack.sh packed.
# Usage: cuda_device_run.sh OUT [STAGE...]
#   OUT    where logs and results go: OUT/log.txt and OUT/speed.jsonl
#   STAGE  doctor tests models sanitize flight speed:fp32 speed:tf32 speed:fp16; by default all of them
# Each stage ends in a line "STAGE: ok", "STAGE: FAILED" or "STAGE: out of time"; the script fails if
# one did. $LIMIT seconds (570) are shared by the stages that are left; torch.compile takes a minute and
# a half for each batch, so where a call may take ten minutes two do it all:
#   cuda_device_run.sh OUT doctor tests models sanitize flight speed:fp16
#   cuda_device_run.sh OUT speed:fp32 speed:tf32
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- doctor tests models sanitize flight speed:fp32 speed:tf32 speed:fp16
limit=${LIMIT:-570}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xJf "$here/pack.tar.xz"
pack=$work/pack

# CUDA's libraries: those that Python packages brought, then the toolkit's.
cuda=$(python3 - <<'P' 2>/dev/null
import glob, site, sys
roots = list(dict.fromkeys(site.getsitepackages() + [p for p in sys.path if p]))
print(":".join(p for root in roots for p in sorted(glob.glob(root + "/nvidia/*/lib"))))
P
)
libraries="$pack:$cuda:/usr/local/cuda/lib64"
export ASHLAR_KERNELS="$out/kernels.json"
failed=0

# Programs of the pack only: Python's own libraries are for Python.
ashlar() { LD_LIBRARY_PATH=$libraries "$pack/ashlar" "$@"; }
device_test() { LD_LIBRARY_PATH=$libraries "$@" "$pack/runtime_cuda_device_test"; }

tests() { device_test env; }

models() {
  local status=0 name
  for name in resnet18 resnet50 vgg19 mobilenet_v2 squeezenet inception_v1; do
    echo "== $name"
    ashlar zoo "$name" --batch 1 -o "$work/$name.ash" --quiet >/dev/null || { status=1; continue; }
    ashlar compare "$work/$name.ash" --device gpu0:0 --device-b cpu0:0 --rtol 1e-3 || status=1
    ashlar compare "$work/$name.ash" --device gpu0:0 --device-b cpu0:0 --allow-tf32 --rtol 1e-2 || status=1
    ashlar compare "$work/$name.ash" --device gpu0:0 --precision fp16 --rtol 3e-2 || status=1
    ashlar compare "$work/$name.ash" --device gpu0:0 --precision bf16 --rtol 2e-1 || status=1
    ashlar verify "$work/$name.ash" --device gpu0:0 || status=1
    ashlar verify "$work/$name.ash" --device gpu0:0 --memory-budget min || status=1
    ashlar profile "$work/$name.ash" --device gpu0:0 --by op || status=1
    rm -f "$work/$name.ash"
  done
  return $status
}

sanitize() {
  local tool status=0
  for tool in memcheck racecheck initcheck; do
    echo "== $tool"
    device_test compute-sanitizer --tool "$tool" --error-exitcode 9 || status=1
  done
  return $status
}

# ResNet-50 one run at a time, with the copies of two overlapping, and with their work overlapping too.
flight() {
  local batch options status=0
  for batch in 1 64; do
    ashlar zoo resnet50 --batch "$batch" -o "$work/flight.ash" --quiet || return 1
    for options in "" "--in-flight 2" "--in-flight 2 --arena-each"; do
      echo "== batch $batch $options"
      # shellcheck disable=SC2086
      ashlar bench "$work/flight.ash" --device gpu0:0 --precision fp16 --duration 2s $options || status=1
    done
  done
  rm -f "$work/flight.ash"
  return $status
}

speed() {
  python3 "$here/versus_gpu_frameworks.py" --build "$pack" --libraries "$libraries" --folder "$work" \
    --precision "$1" --tune --json "$out/speed.jsonl" --limit "$2"
}

stage() {
  local name=$1 left=$((limit - SECONDS)) status
  shift
  if [ $left -lt 10 ]; then
    echo "$name: out of time"
    failed=1
    return
  fi
  # A stage is this script's function: `timeout` takes programs only.
  ( "$@" ) >>"$out/log.txt" 2>&1 &
  local child=$!
  ( sleep "$left" && kill -TERM -- -$child ) >/dev/null 2>&1 &
  local watch=$!
  wait $child
  status=$?
  kill -TERM -- -$watch 2>/dev/null
  wait $watch 2>/dev/null
  case $status in
    0) echo "$name: ok ($SECONDS s)" ;;
    143) echo "$name: out of time"; failed=1 ;;
    *) echo "$name: FAILED (exit $status)"; tail -n 20 "$out/log.txt"; failed=1 ;;
  esac
}

set -m  # stages are process groups of their own
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || true
for name in "$@"; do
  echo "#### $name" >>"$out/log.txt"
  case "$name" in
    doctor) stage doctor ashlar doctor ;;
    tests) stage tests tests ;;
    models) stage models models ;;
    sanitize) stage sanitize sanitize ;;
    flight) stage flight flight ;;
    speed:*) stage "$name" speed "${name#speed:}" $((limit - SECONDS - 15)) ;;
    *) echo "unknown stage $name"; failed=1 ;;
  esac
done
[ ! -f "$out/speed.jsonl" ] || cat "$out/speed.jsonl"
exit $failed
