#!/usr/bin/env bash
# Builds for 64-bit Arm on x86 (preset aarch64), and runs under qemu: the planner's tests, the kernels' cases, a model
# untiled and in 512 KiB. Both plans must equal the plans made on x86, byte for byte. Measures no speed.
# Usage: scripts/test_aarch64.sh [least]    least, for CI: only the program tests/cross/cross_check.cc: planners, plans
# and runs of a small MobileNetV2. Compiled at -O1, except the tiles of convolutions, as nothing is timed.
# Exit 77, with a message, if the compiler or the libraries are not available.
# (ASHLAR_JOBS: parallel jobs of the build, default: all processors)
set -euo pipefail
cd "$(dirname "$0")/.."
skip() {
  echo "skipped: $1" >&2
  exit 77
}
scripts/install_packages.sh gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static ||
  skip "no cross compiler for 64-bit Arm, or no qemu (Debian: g++-aarch64-linux-gnu, qemu-user-static)"
root=$PWD/build/aarch64-root work=$PWD/build/aarch64-work
mkdir -p "$work"
scripts/aarch64_libraries.sh || skip "no libraries for arm64 from Debian's archive"

arm() {
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu" "$@"
}
configure() {  # [option of cmake]...
  cmake --preset aarch64 "$@" >build/aarch64.configure.log 2>&1 || { cat build/aarch64.configure.log; exit 1; }
}
build_here() {  # TARGET
  [ -d build/release ] || cmake --preset release >build/release.configure.log
  nice ninja -C build/release ${ASHLAR_JOBS:+-j"$ASHLAR_JOBS"} "$1"
}

if [ "${1:-}" = least ]; then
  least=build/aarch64-least
  configure -B "$least" -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -DNDEBUG"
  nice ninja -C "$least" ${ASHLAR_JOBS:+-j"$ASHLAR_JOBS"} cross_check
  build_here cross_check
  rm -f "$work/outputs"
  build/release/cross_check "$work/outputs" >"$work/x86.txt"
  arm "$least/cross_check" "$work/outputs" >"$work/aarch64.txt"
  cmp "$work/x86.txt" "$work/aarch64.txt"
  echo "aarch64: $(stat -c %s "$work/aarch64.txt") bytes of plans are as on x86, and outputs agree"
  exit 0
fi

# The planner and what stands below it, kernels on every case of an operator, kernels on views and threads.
tests=(memory_test runtime_device_test runtime_schedule_test runtime_cpu_test)
filter='-*DeathTest*'  # those tests start themselves, without qemu
configure
nice ninja -C build/aarch64 ${ASHLAR_JOBS:+-j"$ASHLAR_JOBS"} ashlar "${tests[@]}"
build_here ashlar
for test in "${tests[@]}"; do
  arm "build/aarch64/$test" --gtest_brief=1 --gtest_filter="$filter"
done
# Kernels of 8 bits again, on processors without products of matrices, and without dot products.
for processor in neoverse-n1 cortex-a53; do
  QEMU_CPU=$processor arm build/aarch64/runtime_cpu_test --gtest_brief=1 --gtest_filter='QuantizedTilesTest.*:*OfEightBits*'
done

cd "$work"
here=$OLDPWD/build/release/ashlar there=$OLDPWD/build/aarch64/ashlar
arm "$there" doctor | grep -e processor -e features -e libraries
"$here" zoo mobilenet_v2 -o model.ash -q
for budget in "" "--memory-budget 512KiB"; do
  for processor in neon/32K/512K avx2/32K/512K; do
    planning="--threads 1 --no-autotune --processor $processor $budget"
    "$here" plan model.ash -q $planning -o x86.plan
    arm "$there" plan model.ash -q $planning -o aarch64.plan
    cmp x86.plan aarch64.plan
    echo "plan for $processor ${budget:-whole}: the same $(stat -c %s x86.plan) bytes on x86 and aarch64"
  done
  arm "$there" verify model.ash --threads 1 $budget
  arm "$there" run model.ash -q --threads 1 $budget -o aarch64.npz
  "$here" compare model.ash --threads 1 --ref aarch64.npz
done
echo "aarch64: all is as on x86"
