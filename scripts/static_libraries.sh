#!/usr/bin/env bash
# Builds static Abseil and protobuf-lite into a folder, from the sources of the installed Debian
# packages: a wheel includes them in its library. Debian's own archives cannot be linked into shared
# libraries. The code is not ours, so its warnings are off.
# Usage: scripts/static_libraries.sh FOLDER [TOOLCHAIN]    (exit 77 if the sources are not available)
#        TOOLCHAIN: a file of CMake's, for a cross build
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
toolchain=()
[ -z "${2:-}" ] || toolchain=("-DCMAKE_TOOLCHAIN_FILE=$(realpath "$2")")
packages="libabsl-dev libprotobuf-dev"
wanted=$(dpkg-query -W -f='${source:Package}=${source:Version}\n' $packages | sort -u)
if [ "$(cat "$folder/built" 2>/dev/null)" = "$wanted" ]; then
  echo "static libraries: those of" $wanted "are there"
  exit 0
fi
rm -rf "$folder"/*
mkdir -p "$folder/lists/partial"
cd "$folder"
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
printf 'deb-src http://deb.debian.org/%s main\n' "debian $release" "debian $release-updates" \
  "debian-security $release-security" >sources.list
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/lists"
     -o APT::Sandbox::User=root)
"${apt[@]}" update
"${apt[@]}" source $wanted >sources.log || { echo "skipped: no sources of" $wanted; exit 77; }
flags=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF -DCMAKE_CXX_STANDARD=20
       "-DCMAKE_CXX_FLAGS=-w -fvisibility=hidden -fvisibility-inlines-hidden -ffunction-sections"
       -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "${toolchain[@]}")
export CCACHE_BASEDIR=$folder CCACHE_NOHASHDIR=1  # so that clones share compiled files
cmake -S abseil-*/ -B abseil "${flags[@]}" >abseil.log
cmake -S protobuf-*/ -B protobuf "${flags[@]}" -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_BUILD_PROTOC_BINARIES=OFF >protobuf.log
cmake --build abseil --target statusor str_format_internal raw_hash_set hash cord # with dependencies
cmake --build protobuf --target libprotobuf-lite
find abseil protobuf -name '*.a' -exec cp {} . \;
echo "$wanted" >built
