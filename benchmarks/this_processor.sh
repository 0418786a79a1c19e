#!/usr/bin/env bash
# Measures this processor in one command: build/this_processor.md.
# - fp32, with and without Winograd's convolutions, beside ONNX Runtime, and OpenVINO held to f32 and as it decides
#   itself (bf16 on AMX); bf16 beside OpenVINO in bf16; 8 bits beside both in 8 bits; a first run beside ONNX
#   Runtime's, with its pre-optimised file, too;
# - with `all`, also beside MNN and ncnn (each as it decides itself and held to f32), LiteRT with XNNPACK, and
#   PyTorch's compiler.
# Peers come from PyPI, into build/benchmarks.venv.
# Usage: benchmarks/this_processor.sh [quick] [all]    quick: two models, few rounds (minutes instead of hours)
# The machine should be idle: the tables state the processor time of others meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
models=(all) quick=() batches=(1 10) requirements=requirements.txt more=()
for word in "$@"; do
  case $word in
    quick) models=(resnet50 mobilenet_v2) quick=(--rounds 3) ;;
    all) requirements=requirements_more.txt more=(mnn mnn_f32 litert torch_compile) ;;
    *) echo "usage: $0 [quick] [all]" >&2; exit 2 ;;
  esac
done
scripts/configure.sh release >/dev/null
cmake --build --preset release --target ashlar latency_server
venv=build/benchmarks.venv
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/pip install --quiet -r benchmarks/$requirements
side_by_side() {
  $venv/bin/python benchmarks/side_by_side.py --models "${models[@]}" "${quick[@]}" "$@"
}
{
  build/release/ashlar doctor
  printf '\n## fp32\n\n'
  side_by_side --batch "${batches[@]}" --peers onnxruntime openvino openvino_default "${more[@]}"
  if [ ${#more[@]} -gt 0 ]; then side_by_side --batch 1 --peers ncnn ncnn_f32; fi
  printf '\n## fp32, `--exact`: without Winograd\n\n'
  side_by_side --batch "${batches[@]}" --peers onnxruntime openvino openvino_default --ashlar-options exact
  printf '\n## bf16\n\n'
  side_by_side --batch "${batches[@]}" --peers onnxruntime openvino_bf16 openvino_default --ashlar-options bf16
  printf '\n## 8 bits\n\n'
  $venv/bin/python benchmarks/eight_bits.py --models resnet50 mobilenet_v2 --batch "${batches[@]}" --openvino "${quick[@]}"
  printf '\n## A first run\n\n'
  $venv/bin/python benchmarks/cold_start.py --models "${models[@]}" "${quick[@]}"
} | tee build/this_processor.md
