#!/usr/bin/env bash
# Configures a preset in build/PRESET and shows CMake's output only if that fails. Refuses a build
# folder that was copied or moved together with its clone, because CMake cannot use it.
# Usage: scripts/configure.sh [--check] PRESET [option of cmake]...
#        --check: only checks the build folder
set -euo pipefail
cd "$(dirname "$0")/.."
check_only=
[ "${1:-}" != --check ] || { check_only=1; shift; }
preset=$1
cache=build/$preset/CMakeCache.txt
if [ -e "$cache" ]; then
  made_for=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
  if [ "$made_for" != "$PWD" ]; then
    echo "build/$preset was made for the clone at $made_for, and this one is at $PWD: rm -r build/$preset" >&2
    exit 1
  fi
fi
[ -z "$check_only" ] || exit 0
mkdir -p build
cmake --preset "$preset" "${@:2}" >"build/$preset.configure.log" 2>&1 ||
  { cat "build/$preset.configure.log"; exit 1; }
