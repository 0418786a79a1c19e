#!/usr/bin/env bash
# Builds and passes the tests. Usage: scripts/test.sh [preset] [option of cmake]...
# Presets: release, dev, asan, tsan. (ASHLAR_TARGETS: the targets to build, default: all;
# ASHLAR_LONG_TESTS=1: with the tests that are left to the night)
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
scripts/install_packages.sh
echo "configuring preset $preset"
scripts/configure.sh "$preset" "${@:2}"
cmake --build --preset "$preset" ${ASHLAR_TARGETS:+--target $ASHLAR_TARGETS}
junit=$PWD/build/$preset/tests.xml
status=0
ctest --preset "$preset" -j "$(nproc)" --output-junit "$junit" || status=$?
skipped=$(grep -c 'status="notrun"' "$junit" || true)
[ "$skipped" -eq 0 ] || echo "$skipped tests were skipped, each says why: long ones run with ASHLAR_LONG_TESTS=1, models of" \
  "others lie in ../shared (ASHLAR_SHARED), devices and further programs are named"
exit $status
