#!/usr/bin/env bash
# Packs the files that a bare machine with a GPU needs to test and time Ashlar into one folder
# (default: build/device_pack): an archive with the programs of a release build and the libraries
# that such a machine lacks, and the scripts. CUDA's libraries, PyTorch and JAX must be on that
# machine, and a C++ runtime no older than the build machine's. Run cuda_device_run.sh there; it
# explains its usage.
# Usage: benchmarks/cuda_device_pack.sh [build folder] [target folder]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
target=${2:-build/device_pack}
programs=(ashlar latency_server runtime_cuda_device_test tools_gpu_test runtime_cpu_test chunk_schedule)
cmake --build "$build" --target "${programs[@]}" ashlar_cuda
# Results of an earlier call stay, and the next call continues them.
mkdir -p "$target"
rm -rf "$target/pack" "$target/pack.tar.xz"
mkdir "$target/pack"
for program in "${programs[@]}" libashlar_cuda.so; do cp "$build/$program" "$target/pack/"; done
# All libraries except the C library and the compiler's, which any newer system has.
(cd "$build" && ldd "${programs[@]}") | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  { grep -vE '/(libc|libm|libmvec|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' || true; } |
  while read -r library; do cp -L "$library" "$target/pack/"; done
strip --strip-unneeded "$target"/pack/*.so* 2>/dev/null || true
# Only debug symbols are stripped: the GPU's library uses symbols of the programs.
(cd "$target/pack" && strip --strip-debug "${programs[@]}")
git describe --always --dirty --exclude '*' >"$target/pack/commit"
cp benchmarks/{versus_gpu_frameworks,gpu_peers,gpu_tables,cudnn_engines}.py benchmarks/cuda_device_{run,checks,times}.sh "$target/"
rm -rf "$target/peers"
mkdir "$target/peers"
cp benchmarks/peers/{bursts,jax_resnet50,pytorch,pytorch_limits}.py "$target/peers/"
XZ_OPT=-2 tar -C "$target" -cJf "$target/pack.tar.xz" pack
rm -r "$target/pack"
# At most 64 MiB can be transferred: this folder and the tree.
du -sh "$target"
