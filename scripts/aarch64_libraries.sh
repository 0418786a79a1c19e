#!/usr/bin/env bash
# Unpacks Debian's libraries for 64-bit Arm into build/aarch64-root, for cross builds (preset aarch64). They come by an
# apt of their own: this system stays of one architecture. Program generators (protoc, flatc) are this system's, so
# their libraries have to be of the same versions.
# build/aarch64-root/var/lib/dpkg lists their files, at the paths where they are here, so that dpkg-shlibdeps
# (--admindir) finds the packages that a program depends on.
# Exit code 1: Debian's archive is not available.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64-root apt_root=$PWD/build/aarch64-work/apt
packages=(libabsl-dev libabsl20220623 libflatbuffers-dev libflatbuffers2 libprotobuf-dev libprotobuf32 libprotobuf-lite32
          libonnx-dev libonnx1 libonnxifi zlib1g-dev zlib1g libstb-dev libstb0 libgtest-dev libgmock-dev
          libcli11-dev nlohmann-json3-dev libxxhash-dev libc6 libgcc-s1 libstdc++6)
[ "$(cat "$root/unpacked" 2>/dev/null)" != "${packages[*]}" ] || exit 0
rm -rf "$root" && mkdir -p "$root/var/lib/dpkg/info" "$apt_root/lists/partial" "$apt_root/archives/partial"
touch "$apt_root/status"
printf '%s\n' 'APT::Architecture "arm64";' 'APT::Architectures "arm64";' "Dir::State::lists \"$apt_root/lists\";" \
  "Dir::State::status \"$apt_root/status\";" "Dir::Cache \"$apt_root\";" 'APT::Sandbox::User "root";' >"$apt_root/apt.conf"
(cd "$apt_root/archives" && export APT_CONFIG=$apt_root/apt.conf &&
  apt-get -qq update && apt-get -qq download "${packages[@]}") || exit 1
for package in "$apt_root"/archives/*.deb; do
  name=$(dpkg-deb -f "$package" Package)
  dpkg -x "$package" "$root"
  info=$root/var/lib/dpkg/info/$name
  dpkg-deb -c "$package" | sed -n "s|^[^d].* \.\(/[^ ]*\).*|$root\1|p" >"$info.list"
  for file in shlibs symbols; do
    ! dpkg-deb -I "$package" "$file" >"$info.$file" 2>/dev/null || continue
    rm "$info.$file"
  done
  { dpkg-deb -f "$package"; printf 'Status: install ok installed\n\n'; } >>"$root/var/lib/dpkg/status"
done
# Links to places of the system lead into the folder.
find "$root" -type l -lname '/*' | while read -r link; do ln -sf "$root$(readlink "$link")" "$link"; done
echo "${packages[*]}" >"$root/unpacked"
