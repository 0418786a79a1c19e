#!/usr/bin/env bash
# Measures a 64-bit Arm board in one command: fp32 and 8 bits beside ONNX Runtime, in build/on_arm.md, to paste into a
# report. First the 8-bit kernels are tested against each other. ONNX Runtime comes from PyPI, into
# build/benchmarks.venv.
# Usage: benchmarks/on_arm.sh [quick]    quick: one model, few rounds
# The board should be idle and cool: the tables state the processor time of others meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = aarch64 ] || { echo "this is $(uname -m), expected aarch64" >&2; exit 1; }
models=(resnet50 mobilenet_v2) quick=()
[ "${1:-}" != quick ] || models=(mobilenet_v2) quick=(--rounds 3)
scripts/configure.sh release >/dev/null
cmake --build --preset release --target ashlar latency_server runtime_cpu_test
build/release/runtime_cpu_test --gtest_brief=1 --gtest_filter='QuantizedTilesTest.*:*OfEightBits*'
venv=build/benchmarks.venv
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/pip install --quiet numpy onnx onnxruntime
{
  build/release/ashlar doctor
  $venv/bin/python benchmarks/side_by_side.py --models "${models[@]}" "${quick[@]}" --peers onnxruntime
  $venv/bin/python benchmarks/eight_bits.py --models "${models[@]}" --batch 1 "${quick[@]}"
} | tee build/on_arm.md
