#!/usr/bin/env bash
# Installs the Debian packages into an empty Debian 12 (debootstrap, in build/debian) that has a compiler, CMake and pkg-config
# and nothing of ours, then builds and runs the examples in C and C++ there; lintian reads the packages. Needs root.
# Usage: scripts/test_packages.sh [FRAMES]     (frames of the camera's loop; default 1000)
set -euo pipefail
cd "$(dirname "$0")/.."
frames=${1:-1000}
packages=(build/release/packages/*.deb)
[ -e "${packages[0]}" ] || { echo "no packages: scripts/package.sh deb makes them" >&2; exit 1; }
scripts/install_packages.sh debootstrap lintian
root=build/debian
if [ ! -e "$root/complete" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase --include=g++,make,cmake,pkg-config bookworm "$root" >build/debian.log
  touch "$root/complete"
fi

# Packages of an earlier run, and all that came with them, go first.
chroot "$root" apt-get purge -qq -y --autoremove ashlar libashlar-dev libashlar1 >/dev/null 2>&1 || true
rm -rf "$root/work" && mkdir "$root/work"
cp "${packages[@]}" "$root/work/"
cp -r examples tests/data/int8/nodes/add.onnx "$root/work/"
cat >"$root/work/run.sh" <<'SCRIPT'
set -euo pipefail
cd /work
apt-get update -qq
apt-get install -qq -y --no-install-recommends ./*.deb >install.log
ashlar zoo mobilenet_v2 -o mobilenet.ash -q
ashlar zoo resnet18 --image 32 -o small.ash -q
for name in minimal camera states streamed train; do
  cc -std=c11 -Wall -Wextra -Werror -O2 "examples/c/$name/$name.c" $(pkg-config --cflags --libs ashlar) -lm -o "$name"
done
./minimal mobilenet.ash
ashlar convert mobilenet.ash -o packed.ash --pack --weights-budget 1MiB -q
./streamed packed.ash weights-budget=1MiB 3
./camera mobilenet.ash "$1"
./states add.onnx y=a
./train small.ash trained.ash
cmake -S examples/cpp/find_package -B cpp >cmake.log
cmake --build cpp >>cmake.log
cpp/budget mobilenet.ash 100000
ashlar demo --image 64 -o plan.html
test -s /usr/share/man/man1/ashlar.1.gz
echo "installed, built and run in an empty Debian"
SCRIPT
unshare --mount bash -c 'mount -t proc proc "$0/proc" && exec chroot "$0" bash /work/run.sh "$1"' "$root" "$frames"

# Except the licence, which the owner decides.
lintian --fail-on error --suppress-tags no-copyright-file "${packages[@]}"
