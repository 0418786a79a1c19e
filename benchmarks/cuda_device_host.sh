#!/usr/bin/env bash
# Tests and times Ashlar on the processor of a machine with a GPU, which may be one that is rarely
# at hand, from the archive of cuda_device_pack.sh. The machine needs Python with NumPy, onnx and
# onnxruntime.
# Usage: benchmarks/cuda_device_host.sh OUT.md PACK PART...
#   OUT.md   the results, written continuously
#   PACK     the folder of cuda_device_pack.sh. An openvino.tar.xz beside the archive is unpacked for
#            Python
#   PART     tests     kernels in AMX's tiles, in 8 bits and bf16, and all kernels of convolutions
#                      and products, on this processor's instructions
#            speed     ResNet-50 and MobileNetV2 on one thread in bf16, in fp32 and in 8 bits beside
#                      ONNX Runtime and OpenVINO
#            scaling   both on 1, 2, 4 ... threads beside ONNX Runtime
# Settings from the environment: ROUNDS (3).
set -uo pipefail
[ $# -gt 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 2; }
out=$(realpath -m "$1")
pack=$(realpath "$2")
shift 2
mkdir -p "$(dirname "$out")"
cd "$(dirname "$0")/.." || exit 1
work=${TMPDIR:-/tmp}/ashlar_host
rm -rf "$work"
mkdir -p "$work/build/release" "$work/python" "$work/models"
# The scripts find a build beside themselves.
cp -r benchmarks "$work/benchmarks"
unpack() { python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall(sys.argv[2])' "$1" "$2"; }
unpack "$pack/pack.tar.xz" "$work" || exit 1
[ ! -f "$pack/openvino.tar.xz" ] || unpack "$pack/openvino.tar.xz" "$work/python" || exit 1
# The libraries of the pack are for Ashlar's programs alone.
for program in ashlar latency_server runtime_cpu_test chunk_schedule; do
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$work/pack" "$work/pack/$program" >"$work/build/release/$program"
  chmod +x "$work/build/release/$program"
done
export PYTHONPATH="$work/python${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
rounds=${ROUNDS:-3} status=0

script() { timeout --foreground -k 5 300 python3 "$work/benchmarks/$1" "${@:2}" || status=1; }

tests() {
  printf '\n## Tests\n\n'
  local name begun
  for name in 'AmxTest.*' '*/CpuKernels.*/ConvBiasForward:*/CpuKernels.*/ConvolutionForward:*/CpuKernels.*/MatrixMul*:*/HalfKernels.*'; do
    begun=$SECONDS
    timeout --foreground -k 5 200 "$work/build/release/runtime_cpu_test" --gtest_filter="$name" >"$work/tests.txt" 2>&1
    echo "- \`$name\`: exit code $?, $(grep -E '^\[  (PASSED|FAILED)' "$work/tests.txt" | paste -sd ' '), $((SECONDS - begun)) s"
    grep -E -m 12 'Failure|actual|: .* by [^ ]+, threads' "$work/tests.txt" | sed 's/^/    /'
  done
}

speed() {
  local options=(--models resnet50 mobilenet_v2 --batch 1 10 --threads 1 --rounds "$rounds" --folder "$work/models")
  printf '\n## bf16\n\n'
  script side_by_side.py "${options[@]}" --peers openvino_default openvino_bf16 --ashlar-options bf16
  printf '\n## 8 bits\n\n'
  script eight_bits.py "${options[@]}" --openvino
  printf '\n## fp32\n\n'
  script side_by_side.py "${options[@]}" --peers onnxruntime openvino
}

scaling() {
  printf '\n## Threads\n\n'
  script scaling.py --rounds "$rounds" --folder "$work/models" --batch 1 10
}

{
  lscpu | grep -E 'Model name|^CPU\(s\)|Thread|Core|L1d|L2|L3|Model:|NUMA node0' | sed 's/^/    /'
  "$work/build/release/ashlar" doctor 2>&1 | sed 's/^/    /'
  for part in "$@"; do
    case $part in tests | speed | scaling) "$part" ;; *) echo "unknown part $part" >&2; status=2 ;; esac
  done
} >"$out" 2>"$work/errors.txt"
[ ! -s "$work/errors.txt" ] || { printf '\n## Messages\n\n'; tail -n 40 "$work/errors.txt" | cut -c 1-300 | sed 's/^/    /'; } >>"$out"
exit $status
