#!/usr/bin/env bash
# Builds the Debian packages libashlar1, libashlar-dev and ashlar, and the Python wheel, into
# build/release/packages; for 64-bit Arm by a cross build, into build/aarch64/packages.
# Usage: scripts/package.sh [--arch amd64|arm64] [deb|wheel]    (default: both, for amd64)
set -euo pipefail
cd "$(dirname "$0")/.."
arch=amd64
[ "${1:-}" != --arch ] || { arch=${2:-}; shift 2; }
what=${1:-deb wheel}
options=() toolchain=()
case $arch in
  amd64) preset=release ;;
  arm64)
    preset=aarch64 toolchain=(cmake/aarch64.cmake)
    scripts/install_packages.sh gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static
    scripts/aarch64_libraries.sh || { echo "skipped: no libraries for arm64 from Debian's archive" >&2; exit 77; }
    ;;
  *) echo "--arch: amd64 or arm64" >&2; exit 2 ;;
esac
build=build/$preset
scripts/configure.sh --check $preset
scripts/install_packages.sh dpkg-dev file
if [[ " $what " = *" wheel "* ]]; then
  scripts/install_packages.sh advancecomp || echo "without advzip: a larger wheel"
  static=build/static
  [ $arch = amd64 ] || static=build/aarch64-static
  scripts/static_libraries.sh $static "${toolchain[@]}"
  options=("-DASHLAR_STATIC_LIBRARIES=$PWD/$static")
fi
scripts/configure.sh $preset "${options[@]}"

# Makes dpkg-shlibdeps, which CPack calls, find the packages of arm64's libraries.
dependencies_for_arm64() {
  local root=$PWD/build/aarch64-root
  mkdir -p build/aarch64-work/bin
  printf '#!/bin/sh\nexec env DEB_HOST_ARCH=arm64 /usr/bin/dpkg-shlibdeps %s "$@"\n' \
    "--admindir=$root/var/lib/dpkg -l$root/usr/lib/aarch64-linux-gnu -l$root/lib/aarch64-linux-gnu" \
    >build/aarch64-work/bin/dpkg-shlibdeps
  chmod +x build/aarch64-work/bin/dpkg-shlibdeps
  export PATH=$PWD/build/aarch64-work/bin:$PATH
}

for kind in $what; do
  case $kind in
    deb)
      cmake --build --preset $preset --target packaged
      [ $arch = amd64 ] || dependencies_for_arm64
      (cd $build && cpack --config CPackConfig.cmake -D CPACK_DEBIAN_PACKAGE_ARCHITECTURE=$arch >packages.log ||
        { cat packages.log; exit 1; })
      ls -l $build/packages/*.deb
      ;;
    wheel)
      cmake --build --preset $preset --target wheel_files
      python3 packaging/wheel.py python $build/wheel/libashlar.so.1 $build/wheel/ashlar $build/packages
      # Compresses again with another implementation of deflate: a twenty-fifth smaller.
      ! command -v advzip >/dev/null || advzip -q -z -3 $build/packages/*.whl
      ls -l $build/packages/*.whl
      ;;
    *) echo "usage: scripts/package.sh [--arch amd64|arm64] [deb|wheel]" >&2; exit 2 ;;
  esac
done
