#!/usr/bin/env bash
# Installs the missing Debian packages that the build needs. Does nothing if all are installed.
# Usage: scripts/install_packages.sh [further package]...
set -euo pipefail

packages=(
  build-essential ccache cmake ninja-build pkg-config
  libabsl-dev libcli11-dev nlohmann-json3-dev
  libdnnl-dev ocl-icd-opencl-dev  # a peer in benchmarks/
  libflatbuffers-dev flatbuffers-compiler
  libonnx-dev libprotobuf-dev protobuf-compiler
  libstb-dev libxxhash-dev zlib1g-dev
  libgtest-dev libgmock-dev
  python3-jsonschema
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#packages[@]} are installed"
  exit 0
fi
echo "packages: installing ${missing[*]}"
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
