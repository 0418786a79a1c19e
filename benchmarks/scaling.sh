#!/usr/bin/env bash
# Measures how this machine's threads share models, in one command: build/scaling.md. For machines with many cores.
# - ResNet-50 and MobileNetV2 on 1, 2, 4 ... threads beside ONNX Runtime, and the limit by the chunks of their loops;
# - the operators that lose most on all cores: measured, and simulated on 4, 8, 16 and 64 threads.
# ONNX Runtime comes from PyPI, into build/benchmarks.venv.
# Usage: benchmarks/scaling.sh [MODEL.onnx|MODEL.ash...]    further models: simulated and measured by operator
# The machine should be idle.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/configure.sh release >/dev/null
cmake --build --preset release --target ashlar latency_server chunk_schedule
venv=build/benchmarks.venv
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/pip install --quiet -r benchmarks/requirements.txt
models=$(mktemp -d)
trap 'rm -rf "$models"' EXIT
for name in resnet50 mobilenet_v2; do build/release/ashlar zoo $name -o "$models/$name.ash" --quiet; done
for model in "$@"; do build/release/ashlar convert "$model" -o "$models/$(basename "${model%.*}").ash" --quiet; done
cores=$(nproc)
{
  build/release/ashlar doctor
  printf '\n## Whole models\n\n'
  $venv/bin/python benchmarks/scaling.py
  for model in "$models"/*.ash; do
    printf '\n## %s, by operator, simulated\n' "$(basename "$model")"
    build/release/chunk_schedule "$model"
    [ "$cores" -gt 1 ] || continue
    printf '\n## %s, by operator, measured on %s threads\n\n' "$(basename "$model")" "$cores"
    benchmarks/thread_scaling.py "$model" --threads "$cores"
  done
} | tee build/scaling.md
