#!/usr/bin/env bash
# Runs long tests that CI has no time for. Packages from PyPI go into a folder of their own; nothing
# else needs them.
# Usage: scripts/nightly.sh [minutes of random models, default 60]
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-60}
ASHLAR_LONG_TESTS=1 scripts/test.sh release
cmake --build --preset release --target benchmarks
python=build/differential.venv/bin/python
[ -x $python ] || python3 -m venv build/differential.venv
$python -m pip install -q onnx onnxruntime
# Uses other seeds every night; a finding names its seed.
$python scripts/differential.py --seed $(($(date +%j) * 1000000)) --minutes "$minutes"
python3 scripts/mutants.py
scripts/test.sh asan
scripts/test_threads.sh
ASHLAR_LONG_TESTS=1 scripts/test_wheel.sh
scripts/test_old_system.sh || [ $? -eq 77 ]  # skipped, with a message, without Debian 11
scripts/test_packages.sh
scripts/test_aarch64.sh || [ $? -eq 77 ]  # skipped, with a message, without a cross compiler
scripts/package.sh --arch arm64 && scripts/test_arm64_packages.sh || [ $? -eq 77 ]  # skipped, with a message, as above
