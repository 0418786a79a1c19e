#!/usr/bin/env bash
# Installs the wheel into an empty Debian 11 (debootstrap, in build/old_system), whose glibc 2.31 is older than the
# system that the wheel was made on. Runs the library's Python tests there, and the command on a model: its output must
# equal the one of the same command here, bit for bit. Needs root. NumPy comes from PyPI.
# Usage: scripts/test_old_system.sh    (exit 77, with a message, if Debian 11 is not available)
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=(build/release/packages/*.whl)
[ -e "${wheels[0]}" ] || { echo "no wheel: scripts/package.sh wheel makes it" >&2; exit 1; }
scripts/install_packages.sh debootstrap
root=build/old_system
if [ ! -e "$root/complete" ]; then
  rm -rf "$root"
  debootstrap --variant=minbase --include=python3-venv,ca-certificates bullseye "$root" >build/old_system.log ||
    { echo "skipped: no Debian 11 (build/old_system.log)" >&2; exit 77; }
  touch "$root/complete"
fi
rm -rf "$root/work" && mkdir -p "$root"/work/{python,tests/data,examples}
cp "${wheels[-1]}" "$root/work/"
cp -r python/tests "$root/work/python/"
cp -r tests/support "$root/work/tests/"
cp -r tests/data/models "$root/work/tests/data/"
cp -r examples/python "$root/work/examples/"
cp /etc/resolv.conf "$root/etc/"
# Certificates of this system too, if pip goes through a proxy.
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cat >"$root/work/run.sh" <<'SCRIPT'
set -euo pipefail
cd /work
python3 -m venv environment
. environment/bin/activate
pip install -q ./*.whl
echo "glibc $(getconf GNU_LIBC_VERSION | cut -d' ' -f2), $(python --version)"
python -m ashlar_runtime --help >/dev/null
ashlar zoo mobilenet_v2 --image 96 -o model.ash -q
ashlar run model.ash -q --threads 1 --no-autotune --memory-budget 512KiB -o there.npz
ashlar verify model.ash --threads 2 -q
ashlar demo --image 32 -o plan.html -q
python python/tests/runtime_test.py installed "$(command -v ashlar)"
SCRIPT
unshare --mount bash -c 'mount -t proc proc "$0/proc" && mount -t sysfs sys "$0/sys" && mkdir -p "$0/dev/shm" && mount -t tmpfs shm "$0/dev/shm" && exec chroot "$0" bash /work/run.sh' "$root"
work=$root/work
build/release/wheel/ashlar run "$work/model.ash" -q --threads 1 --no-autotune --memory-budget 512KiB -o "$work/here.npz"
cmp "$work/here.npz" "$work/there.npz"
echo "the wheel runs on Debian 11, with the same outputs"
