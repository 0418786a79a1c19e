#!/usr/bin/env bash
# Builds the Debian packages libashlar1, libashlar-dev and ashlar, and the Python wheel, into
# build/release/packages.
# Usage: scripts/package.sh [deb|wheel]    (default: both)
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-deb wheel}
scripts/configure.sh --check release
scripts/install_packages.sh dpkg-dev file
options=()
if [[ " $what " = *" wheel "* ]]; then
  scripts/install_packages.sh advancecomp || echo "without advzip: a larger wheel"
  scripts/static_libraries.sh build/static
  options=("-DASHLAR_STATIC_LIBRARIES=$PWD/build/static")
fi
scripts/configure.sh release "${options[@]}"
for kind in $what; do
  case $kind in
    deb)
      cmake --build --preset release --target packaged
      (cd build/release && cpack --config CPackConfig.cmake >packages.log || { cat packages.log; exit 1; })
      ls -l build/release/packages/*.deb
      ;;
    wheel)
      cmake --build --preset release --target wheel_files
      python3 packaging/wheel.py python build/release/wheel/libashlar.so.1 build/release/wheel/ashlar build/release/packages
      # Compresses again with another implementation of deflate: a twenty-fifth smaller.
      ! command -v advzip >/dev/null || advzip -q -z -3 build/release/packages/*.whl
      ls -l build/release/packages/*.whl
      ;;
    *) echo "usage: scripts/package.sh [deb|wheel]" >&2; exit 2 ;;
  esac
done
