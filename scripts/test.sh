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
ctest --preset "$preset" -j "$(nproc)"
