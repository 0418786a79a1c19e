#!/usr/bin/env bash
# Builds the Debian packages libashlar1, libashlar-dev and ashlar into build/release/packages.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install_packages.sh dpkg-dev
mkdir -p build
cmake --preset release >build/release.configure.log 2>&1 || { cat build/release.configure.log; exit 1; }
cmake --build --preset release --target ashlar ashlar_shared
(cd build/release && cpack --config CPackConfig.cmake >packages.log || { cat packages.log; exit 1; })
ls -l build/release/packages/*.deb
