#!/usr/bin/env bash
# On a machine with a GPU: tests, memory checks, accuracy and speed of what cuda_device_pack.sh packed.
# Usage: benchmarks/cuda_device_run.sh PACK OUT STAGE...
#   PACK   the packed folder        OUT  where logs and results go
#   STAGE  doctor tests sanitize models speed:fp32 speed:tf32 speed:fp16 (all of them: a lease of an hour)
# Each stage ends in one line "STAGE: ok" or "STAGE: FAILED"; the script fails if one did.
set -uo pipefail
pack=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
shift 2
here=$(cd "$(dirname "$0")" && pwd)

# CUDA's libraries: the toolkit's, and those that Python packages brought.
cuda=$(python3 - <<'P' 2>/dev/null
import glob, site, sys
folders = [p for root in site.getsitepackages() + sys.path for p in glob.glob(root + "/nvidia/*/lib")]
print(":".join(dict.fromkeys(folders)))
P
)
export LD_LIBRARY_PATH="$pack:$cuda:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
export ASHLAR_CACHE="$out"
ashlar="$pack/ashlar"
failed=0

stage() {
  local name=$1
  shift
  if "$@" >"$out/$name.log" 2>&1; then
    echo "$name: ok"
  else
    echo "$name: FAILED (exit $?)"
    tail -n 20 "$out/$name.log"
    failed=1
  fi
}


check_models() {
  local status=0 name
  for name in resnet18 resnet50 vgg19 mobilenet_v2 squeezenet inception_v1; do
    "$ashlar" zoo "$name" --batch 1 -o "$out/$name.ash" --quiet >/dev/null 2>&1 || continue
    echo "== $name"
    "$ashlar" compare "$out/$name.ash" --device gpu0:0 --device-b cpu0:0 --rtol 1e-3 || status=1
    "$ashlar" compare "$out/$name.ash" --device gpu0:0 --allow-tf32 --rtol 1e-2 || status=1
    "$ashlar" compare "$out/$name.ash" --device gpu0:0 --precision fp16 --rtol 3e-2 || status=1
    "$ashlar" compare "$out/$name.ash" --device gpu0:0 --precision bf16 --rtol 1e-1 || status=1
    "$ashlar" verify "$out/$name.ash" --device gpu0:0 || status=1
    "$ashlar" profile "$out/$name.ash" --device gpu0:0 --by op || status=1
    rm -f "$out/$name.ash"
  done
  return $status
}

sanitize() {
  local tool
  for tool in memcheck racecheck initcheck; do
    echo "== $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$pack/runtime_cuda_device_test" || return 1
  done
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || true
for name in "$@"; do
  case "$name" in
    doctor) stage doctor "$ashlar" doctor ;;
    tests) stage tests "$pack/runtime_cuda_device_test" ;;
    sanitize) stage sanitize sanitize ;;
    models) stage models check_models ;;
    speed:*) stage "speed-${name#speed:}" python3 "$here/versus_gpu_frameworks.py" --build "$pack" \
      --precision "${name#speed:}" --autotune --json "$out/${name#speed:}.json" ;;
    *) echo "unknown stage $name"; failed=1 ;;
  esac
done
exit $failed
