#!/usr/bin/env bash
# Makes the wheel, installs it for every CPython from 3.9 to 3.13 that is there, and runs the Python tests and examples
# over it (python/tests/wheel_test.py). Examples for Ray want an interpreter that has ray[data,serve].
# Usage: scripts/test_wheel.sh [PYTHON]...
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 0 ]; then
  pythons=("$@")
else
  pythons=()
  for version in 9 10 11 12 13; do
    for candidate in "python3.$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$version".*/bin/python3; do
      if "$candidate" -c 'import sys, venv; assert sys.version_info[1] == int(sys.argv[1])' "$version" 2>/dev/null; then
        pythons+=("$candidate")
        break
      fi
    done
  done
fi
status=0
scripts/package.sh wheel || status=$?
[ "$status" -ne 77 ] || exit 0 # skipped, with a message, as below
[ "$status" -eq 0 ] || exit "$status"
cmake --build --preset release --target ashlar
python3 python/tests/wheel_test.py build/release/packages build/release/ashlar "${pythons[@]}" || status=$?
[ "$status" -eq 77 ] || exit "$status"
