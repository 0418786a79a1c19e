#!/usr/bin/env bash
# Unpacks the packages and the wheel for 64-bit Arm (scripts/package.sh --arch arm64) and runs them under qemu: the
# command of each plans and runs a model, and Debian's Python for arm64 runs it through the wheel's package. The plans
# equal those made on x86, byte for byte, and outputs agree. Measures no speed.
# Usage: scripts/test_arm64_packages.sh     (exit 77, with a message, without qemu or Debian's archive)
set -euo pipefail
cd "$(dirname "$0")/.."
skip() {
  echo "skipped: $1" >&2
  exit 77
}
packages=(build/aarch64/packages/*_arm64.deb) wheels=(build/aarch64/packages/*_aarch64.whl)
[ -e "${packages[0]}" ] && [ -e "${wheels[0]}" ] || { echo "no packages: scripts/package.sh --arch arm64 makes them" >&2; exit 1; }
scripts/install_packages.sh qemu-user-static unzip || skip "no qemu"
scripts/aarch64_libraries.sh || skip "no libraries for arm64 from Debian's archive"
root=$PWD/build/aarch64-root work=$PWD/build/aarch64-work here=$PWD/build/release/ashlar
[ -e "$here" ] || cmake --build --preset release --target ashlar

# Python and NumPy for arm64, unpacked beside the libraries.
python=$work/python
wanted=(python3.11-minimal libpython3.11-minimal libpython3.11-stdlib python3-numpy libblas3 liblapack3 libgfortran5 libexpat1
        libffi8 libbz2-1.0 liblzma5 libncursesw6 libtinfo6 libreadline8 libdb5.3 libuuid1 libcrypt1)
if [ "$(cat "$python/unpacked" 2>/dev/null)" != "${wanted[*]}" ]; then
  rm -rf "$python" && mkdir -p "$python/archives"
  (cd "$python/archives" && export APT_CONFIG=$work/apt/apt.conf && apt-get -qq update && apt-get -qq download "${wanted[@]}") ||
    skip "no Python for arm64 from Debian's archive"
  for package in "$python"/archives/*.deb; do dpkg -x "$package" "$python"; done
  echo "${wanted[*]}" >"$python/unpacked"
fi
libraries=usr/lib/aarch64-linux-gnu
arm() {  # FOLDER PROGRAM [ARGUMENT]...    FOLDER: of further libraries
  local paths=$1:$root/$libraries:$root/lib/aarch64-linux-gnu:$python/$libraries:$python/lib/aarch64-linux-gnu
  qemu-aarch64-static -L "$root" -E LD_LIBRARY_PATH="$paths:$python/$libraries/blas:$python/$libraries/lapack" "${@:2}"
}

rm -rf "$work/deb" "$work/wheel" && mkdir -p "$work/deb" "$work/wheel"
for package in "${packages[@]}"; do
  dpkg -x "$package" "$work/deb"
  dpkg-deb -f "$package" Package Architecture Depends
done
unzip -q "${wheels[-1]}" -d "$work/wheel"
echo "$(basename "${wheels[-1]}") has $(stat -c %s "${wheels[-1]}") bytes"
chmod +x "$work"/wheel/*.data/scripts/ashlar
cd "$work"
planning="--threads 1 --no-autotune --processor neon/32K/512K"
"$here" zoo mobilenet_v2 --image 32 -o model.ash -q
"$here" plan model.ash -q $planning -o x86.plan
for command in deb/usr/bin/ashlar wheel/*.data/scripts/ashlar; do
  arm "$work/deb/$libraries" "$command" doctor | grep -e processor -e features
  arm "$work/deb/$libraries" "$command" plan model.ash -q $planning -o arm.plan
  cmp x86.plan arm.plan
  arm "$work/deb/$libraries" "$command" verify model.ash --threads 1 -q
  arm "$work/deb/$libraries" "$command" run model.ash -q --threads 1 -o arm.npz
  "$here" compare model.ash --threads 1 --ref arm.npz
done
arm "" "$python/usr/bin/python3.11" -S - "$python" wheel <<'PYTHON'
import os, sys
python, wheel = sys.argv[1:]
sys.path[:0] = [wheel, python + "/usr/lib/python3/dist-packages", python + "/usr/lib/python3.11", python + "/usr/lib/python3.11/lib-dynload"]
import numpy
import ashlar_runtime
ran = numpy.load("arm.npz")
session = ashlar_runtime.load("model.ash").plan(threads=1).session()
got = session(numpy.zeros((1, 3, 32, 32), numpy.float32))
assert got.shape == (1, 1000) and abs(got.sum() - 1) < 1e-4, got
print("Python", sys.version.split()[0], os.uname().machine, "NumPy", numpy.__version__, repr(session))
PYTHON
echo "arm64: packages and wheel run, with the plans of x86"
