#!/usr/bin/env bash
# Installs the wheel beside the Ray of an interpreter, and runs the examples for Ray there; makes the wheel where there is none.
# Skips with a message where that interpreter has no Ray.
# Usage: scripts/test_wheel.sh [PYTHON]    (default: python3)
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
if ! "$python" -c 'import numpy, ray.data, ray.serve' 2>/dev/null; then
  echo "examples for Ray: skipped, as $python has no ray[data,serve]"
  exit 0
fi
[ -n "$(ls build/release/packages/*.whl 2>/dev/null)" ] || scripts/package.sh wheel
installed=$PWD/build/wheel_installed
rm -rf "$installed"
"$python" -m pip install -q --no-deps --disable-pip-version-check --target "$installed" build/release/packages/*.whl
build/release/ashlar zoo mobilenet_v2 -o build/mobilenet.ash -q
examples=$PWD/examples/python
cd "$installed"  # where nothing else of ours is found
for example in ray_batch ray_serve; do
  echo "\$ $example.py"
  env -u LD_LIBRARY_PATH PYTHONPATH="$installed" "$python" "$examples/$example.py" "$OLDPWD/build/mobilenet.ash"
done
