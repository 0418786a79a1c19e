#!/usr/bin/env bash
# Puts what a GPU machine needs to test and time Ashlar into one folder (default: device_pack/): the programs
# of a release build, and the libraries that such a machine lacks. CUDA's own are taken from there.
# Usage: benchmarks/cuda_device_pack.sh [build folder] [target folder]
set -euo pipefail
build=$(realpath "${1:-build/release}")
target=${2:-device_pack}
mkdir -p "$target"
programs=(ashlar latency_server libashlar_cuda.so)
for program in "${programs[@]}"; do cp "$build/$program" "$target/"; done
cp "$build/runtime_cuda_device_test" "$target/"
ldd "$build/ashlar" "$build/runtime_cuda_device_test" | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libgcc_s|libstdc\+\+)\.so' |
  while read -r library; do cp -L "$library" "$target/"; done
find "$target" -type f -exec strip --strip-unneeded {} + 2>/dev/null || true
du -sh "$target"
