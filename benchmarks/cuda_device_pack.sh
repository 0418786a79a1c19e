#!/usr/bin/env bash
# Puts what a bare machine with a GPU needs to test and time Ashlar into one folder (default:
# build/device_pack): an archive of the programs of a release build and of the libraries that such a
# machine lacks, and the scripts. CUDA's own libraries, PyTorch and JAX are that machine's, as is a C++
# runtime no older than that of the machine that builds. There: cuda_device_run.sh, which says how.
# Usage: benchmarks/cuda_device_pack.sh [build folder] [target folder]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
target=${2:-build/device_pack}
programs=(ashlar latency_server runtime_cuda_device_test tools_gpu_test)
cmake --build "$build" --target "${programs[@]}" ashlar_cuda
# Results of an earlier call stay: the next one goes on with them.
mkdir -p "$target"
rm -rf "$target/pack" "$target/pack.tar.xz"
mkdir "$target/pack"
for program in "${programs[@]}" libashlar_cuda.so; do cp "$build/$program" "$target/pack/"; done
# All but the C library and the compiler's, of which any newer system has what we need.
(cd "$build" && ldd "${programs[@]}") | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  { grep -vE '/(libc|libm|libmvec|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' || true; } |
  while read -r library; do cp -L "$library" "$target/pack/"; done
strip --strip-unneeded "$target"/pack/*.so* 2>/dev/null || true
# Of programs, the symbols stay that the library of the GPU uses.
(cd "$target/pack" && strip --strip-debug "${programs[@]}")
git describe --always --dirty --exclude '*' >"$target/pack/commit"
cp benchmarks/{versus_gpu_frameworks,gpu_peers,gpu_tables}.py benchmarks/cuda_device_run.sh "$target/"
rm -rf "$target/peers"
mkdir "$target/peers"
cp benchmarks/peers/{bursts,jax_resnet50,pytorch,pytorch_limits}.py "$target/peers/"
XZ_OPT=-2 tar -C "$target" -cJf "$target/pack.tar.xz" pack
rm -r "$target/pack"
# What travels together may have at most 64 MiB: this folder and the tree.
du -sh "$target"
