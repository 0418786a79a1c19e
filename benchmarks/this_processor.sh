#!/usr/bin/env bash
# Measures this processor beside ONNX Runtime and OpenVINO, in fp32, in 8 bits, and with OpenVINO's own defaults
# (bf16 on AMX), in one command: build/this_processor.md. Peers come from PyPI, into build/benchmarks.venv.
# Usage: benchmarks/this_processor.sh [quick]    quick: two models, few rounds (minutes instead of an hour)
# The machine should be idle: the tables state the processor time of others meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
models=(all) quick=()
[ "${1:-}" != quick ] || models=(resnet50 mobilenet_v2) quick=(--rounds 3)
scripts/configure.sh release >/dev/null
cmake --build --preset release --target ashlar latency_server
venv=build/benchmarks.venv
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/pip install --quiet -r benchmarks/requirements.txt
{
  build/release/ashlar doctor
  $venv/bin/python benchmarks/side_by_side.py --models "${models[@]}" "${quick[@]}" --peers onnxruntime openvino openvino_default
  $venv/bin/python benchmarks/eight_bits.py --models resnet50 mobilenet_v2 --batch 1 10 --openvino "${quick[@]}"
} | tee build/this_processor.md
