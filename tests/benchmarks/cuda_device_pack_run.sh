#!/usr/bin/env bash
# Runs the pack made by benchmarks/cuda_device_pack.sh in an empty root folder. The root holds the
# pack, a shell and its tools, Python with NumPy, the C and C++ runtime, and nothing else. First
# runs the pack unchanged, beside CUDA's libraries in the folders that pip uses. Then runs the
# commands of cuda_device_first_run.md over the emulated libraries. A small model replaces
# ResNet-50, and stand-ins replace PyTorch and JAX. Usage, as root: cuda_device_pack_run.sh [build
# folder [root folder]]; $PYTHON is a Python with NumPy. Takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build/release}")
root=${2:-$(mktemp -d)}
python=${PYTHON:-python3}
mkdir -p "$root"/{bin,dev,proc,tmp,work/build,stand_ins}
failed=0
expect() {  # a file in the root, patterns
  local file=$root/$1 pattern
  shift
  for pattern in "$@"; do
    grep -qE -- "$pattern" "$file" || { echo "no '$pattern' in $file"; failed=1; }
  done
}
# Links files into the root, under the same paths, together with the libraries that they load.
put() {
  local file
  for file in "$@" $(ldd "$@" 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*' | grep -v ':$' | sort -u); do
    mkdir -p "$root$(dirname "$file")"
    cp -lLn "$file" "$root$file"
  done
}
for tool in bash sh cat cp rm mkdir ln chmod tee tail head grep sed awk sort cut paste tr find ls ldconfig stat timeout sleep date tac realpath dirname \
  tar gzip xz env wc kill nproc mktemp; do
  place=$(realpath "$(type -P $tool)")
  put "$place"
  ln -sf "$place" "$root/bin/$tool"
done
# The C and C++ runtime, out of all libraries that the programs load.
for library in libc libm libmvec libdl librt libpthread libgcc_s "libstdc[+][+]"; do
  put "$(ldconfig -p | grep -m 1 -oE "/[^ ]*/$library\.so\.[0-9]+$")"
done
mapfile -t prefix < <("$python" -c 'import numpy, pathlib, sys, sysconfig
print(pathlib.Path(sys.executable).resolve(), sysconfig.get_path("stdlib"), pathlib.Path(numpy.__file__).parents[1], sep="\n")')
put "${prefix[0]}"
mkdir -p "$root${prefix[1]}/site-packages"
for part in "${prefix[1]}"/*; do
  case "$part" in */site-packages | */test | */idlelib) ;; *) cp -rl "$part" "$root${prefix[1]}/" ;; esac
done
find "${prefix[1]}/lib-dynload" -name '*.so' | while read -r part; do put "$part"; done
site=$root${prefix[1]}/site-packages
for part in numpy numpy.libs; do [ ! -d "${prefix[2]}/$part" ] || cp -rl "${prefix[2]}/$part" "$site/"; done
ln -sf "${prefix[0]}" "$root/bin/python3"

# CUDA's libraries, in the folders that pip uses.
mkdir -p "$site"/nvidia/{cu13,cudnn}/lib
ldconfig -p | sed -n 's/.*=> //p' | grep -E '/lib(cudnn|cublas|nvrtc|nvJitLink)[^/]*\.so\.[0-9.]+$' | sort -u | while read -r library; do
  case "$library" in *cudnn*) folder=cudnn ;; *) folder=cu13 ;; esac
  cp -lLn "$library" "$site/nvidia/$folder/lib/"
done

benchmarks/cuda_device_pack.sh "$build" "$root/work/build/device_pack"
# Runs a command in the root, with none of this environment's variables.
inside() {  # settings, then a command line for a shell
  local command=${*: -1}
  unshare -m bash -c 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" /bin/env -i "${@:2}" /bin/bash -c "cd /work; $1"' \
    "$root" "$command" PATH=/bin HOME=/tmp OUT=/work/out "${@:1:$#-1}"
}
found=$(find "$root" -path "$site" -prune -o \( -name 'libabsl*' -o -name 'libprotobuf*' \) -print)
[ -z "$found" ] || { echo "not an empty root: $found"; failed=1; }

inside TMPDIR=/tmp/real 'mkdir -p $TMPDIR; bash build/device_pack/cuda_device_run.sh $OUT smoke' || true
cp -r "$root/work/out" "$root/work/out-real"
expect work/out-real/summary.txt 'no NVIDIA driver on this machine' 'not run, since gpu0:0 is not ready'
expect work/out-real/doctor.json 'cuDNN 9\.' 'cuBLASLt 1[23]\.'
inside 'libraries=$(echo /tmp/real/ashlar_device/pack '"${site#"$root"}"'/nvidia/*/lib | tr " " :)
  LD_LIBRARY_PATH=$libraries /tmp/real/ashlar_device/pack/ashlar zoo resnet50 --batch 10 -o /tmp/model.ash --quiet
  LD_LIBRARY_PATH=$libraries /tmp/real/ashlar_device/pack/ashlar plan /tmp/model.ash --device gpu0:0 --precision fp16' >"$root/work/plan.txt"
expect work/plan.txt 'arena'

# The emulated libraries. A small zoo model on small images replaces ResNet-50.
sed -i 's/224, 224/32, 32/' "$root/work/build/device_pack/versus_gpu_frameworks.py"
pack=$root/tmp/emulated/pack
mkdir -p "$pack"
tar -C "$root/tmp/emulated" -xJf "$root/work/build/device_pack/pack.tar.xz"
cp "$build/emulated_gpu/libashlar_cuda.so" "$pack/"
mv "$pack/ashlar" "$pack/ashlar.program"
cat >"$pack/ashlar" <<'S'
#!/bin/bash
[ "$1 $2" != "zoo resnet50" ] || set -- zoo resnet18 "${@:3}" --image 32
exec "${0%/*}/ashlar.program" "$@"
S
chmod +x "$pack/ashlar"
XZ_OPT=-0 tar -C "$root/tmp/emulated" -cJf "$root/work/build/device_pack/pack.tar.xz" pack
for name in pytorch jax_resnet50; do
  cat >"$root/work/build/device_pack/peers/$name.py" <<'S'
import time, bursts
bursts.await_turn()
bursts.serve(lambda: time.sleep(0.01), '{"peak_bytes": 1000000}')
S
done
echo 'print("""{"flops": {"fp32": 1e12, "tf32": 1e12, "fp16": 1e12, "bf16": 1e12}, "bytes": 1e12, "device": "Emulated GPU 0", "cuda": "13.0", "cudnn": 91900}""")' \
  >"$root/work/build/device_pack/peers/pytorch_limits.py"
cat >"$root/stand_ins/compute-sanitizer" <<'S'
#!/bin/bash
[ "$1" != --version ] || exit 0
until [ -x "$1" ] && [[ $1 == */* ]]; do shift; done
"$@" && echo "========= ERROR SUMMARY: 0 errors"
S
chmod +x "$root/stand_ins/compute-sanitizer"
rm -r "$root/work/out"
mapfile -t commands < <(sed -n 's/^    \(.*bash build\/device_pack\/cuda_device_run.sh .*\)/\1/p' benchmarks/cuda_device_first_run.md)
for i in 0 1; do
  # An emulated GPU takes a second for work that a device does in a hundred-thousandth of that:
  # allow more time and do less.
  command=$(sed -E 's/LIMIT=[0-9]+/LIMIT=3000/; s/SECONDS_EACH=[0-9]+/SECONDS_EACH=900/; s/JOBS=[0-9]+/JOBS=2/; s/AllCandidates/"${SKIPPED}"/;
    s/ compile:fp16//' <<<"${commands[i]}")
  echo "# $command"
  inside TMPDIR=/tmp PATH=/bin:/stand_ins BATCHES=1 TUNE=1 ROUNDS=3 SECONDS_EACH=900 \
    SKIPPED="${SKIP_TESTS:-AllCandidates|Tf32|Elemwise|ConvBias|Convolution|MatrixMul|ModelsOf|Tiled|Tuning|InFlight}" "$command" ||
    { echo "exit code $?"; failed=1; }
  cp -r "$root/work/out" "$root/work/out-$i"
  rm -r "$root/work/out"
done
expect work/out-0/summary.txt 'gpu0:0: ready' 'fp32 \([0-9.e-]+\) tf32 .* fp16 .* bf16 .* verify-fp32 verify-fp16' '^smoke: ok' '^tests: ok' \
  '^sanitize:one: ok' '^quick:fp16: ok'
expect work/out-0/speed.jsonl '"complete": true' '"wrong": false' '"tuned": true'
expect work/out-1/summary.txt '^quick:fp16: ok' '^quick:tf32: ok' '^quick:fp32: ok' '^quick:bf16: ok' '^jax:fp16: ok'
expect work/out-1/table.md 'bf16, batch 1 .*x'
[ $failed = 0 ] && echo "ok: $root"
exit $failed
