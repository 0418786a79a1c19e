#!/usr/bin/env bash
# Puts what a bare machine with a GPU needs to test and time Ashlar into one folder (default:
# build/device_pack): one archive of the programs of a release build and of the libraries that such a
# machine lacks. CUDA's own, PyTorch and JAX are that machine's.
# Usage: benchmarks/cuda_device_pack.sh [build folder] [target folder]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build/release}")
target=${2:-build/device_pack}
cmake --build "$build" --target ashlar ashlar_cuda latency_server runtime_cuda_device_test
rm -rf "$target"
mkdir -p "$target/pack"
programs=(ashlar latency_server runtime_cuda_device_test libashlar_cuda.so)
for program in "${programs[@]}"; do cp "$build/$program" "$target/pack/"; done
# All but the C library and the compiler's, of which any newer system has what we need.
ldd "$build/ashlar" "$build/latency_server" "$build/runtime_cuda_device_test" |
  awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  { grep -vE '/(libc|libm|libmvec|libdl|librt|libpthread|libgcc_s|libstdc\+\+)\.so' || true; } |
  while read -r library; do cp -L "$library" "$target/pack/"; done
# Not the command: the library of the GPU uses its symbols.
strip --strip-unneeded "$target"/pack/*.so* 2>/dev/null || true
strip --strip-debug "$target"/pack/{ashlar,latency_server,runtime_cuda_device_test}
cp benchmarks/versus_gpu_frameworks.py benchmarks/cuda_device_run.sh "$target/"
tar -C "$target" -cJf "$target/pack.tar.xz" pack
rm -r "$target/pack"
du -sh "$target"
