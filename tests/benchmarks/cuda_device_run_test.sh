#!/usr/bin/env bash
# Tests functions of benchmarks/cuda_device_{run,checks,times}.sh one by one, on machines that lack
# something and with programs that do not end. Usage: cuda_device_run_test.sh BENCHMARKS
set -uo pipefail
for name in unpack sanitizer bounded sanitized resnet50_of scratch int8; do
  eval "$(sed -n "/^$name() {/,/^}/p" "$1"/cuda_device_{run,checks,times}.sh)"
  declare -F $name >/dev/null || { echo "no function $name in $1"; exit 1; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
expect() {  # what, got, expected
  [ "$2" = "$3" ] || { echo "$1: got '$2', expected '$3'"; failed=1; }
}

mkdir "$folder/pack" "$folder/with" "$folder/without" "$folder/tools"
echo packed >"$folder/pack/file"
python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1] + "/pack.tar.xz", "w:xz").add(sys.argv[1] + "/pack", "pack")' "$folder"
unpack "$folder/pack.tar.xz" "$folder/with"
expect "unpacked" "$(cat "$folder/with/pack/file")" packed
printf '#!/bin/sh\necho "tar (child): xz: Cannot exec" >&2\nexit 2\n' >"$folder/tools/tar"
chmod +x "$folder/tools/tar"
(PATH=$folder/tools:$PATH; unpack "$folder/pack.tar.xz" "$folder/without")
expect "unpacked without xz" "$(cat "$folder/without/pack/file")" packed
(unpack "$folder/none.tar.xz" "$folder/with") 2>/dev/null && { echo "unpacked nothing"; failed=1; }

printf '#!/bin/sh\n' >"$folder/tools/compute-sanitizer"
chmod +x "$folder/tools/compute-sanitizer"
expect "the sanitizer" "$(PATH=$folder/tools:$PATH; sanitizer)" "$folder/tools/compute-sanitizer"

# Results of compute-sanitizer: its exit code and output, and how the script classifies them.
(
  work=$folder libraries="" tools=$folder/tools/compute-sanitizer SECONDS_EACH=5
  say() { said=$*; }
  answer() {  # name, exit code, words, status, errors, errors in our code
    printf '#!/bin/sh\ncat <<T\n%s\nT\nexit %s\n' "$3" "$2" >"$tools"
    sanitized "$1" tool program >/dev/null
    expect "status of $1" $? "$4"
    expect "errors of $1" "$found" "$5"
    expect "our errors of $1" "$ours" "$6"
    case $said in *"tool, $1: "*"exit $2"*) ;; *) echo "of $1 it says: $said"; failed=1 ;; esac
  }
  answer clean 0 "========= ERROR SUMMARY: 0 errors" 0 0 0
  answer write 9 "========= Invalid __global__ write of size 4 bytes
=========     at void ashlar::cuda::(anonymous namespace)::Pool<float>(float *)+0x70
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error" 1 1 1
  answer library 9 "========= Invalid __shared__ read of size 16 bytes
=========     at cutlass_80_tensorop+0x70 in kernel.cu:1
========= ERROR SUMMARY: 2 errors" 1 2 0
  answer race 9 "========= Error: Race reported between Write access at void ashlar::cuda::Softmax<float>(float *)+0x8f0
=========     and Read access at void ashlar::cuda::Softmax<float>(float *)+0xa30 [124 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" 1 1 2
  answer races 0 "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" 0 0 0
  answer silent 0 "" 1 "" 0
  answer unsupported 1 "========= Error: Device not supported" 1 "" 0
  printf '#!/bin/sh\nsleep 300\n' >"$tools"
  SECONDS_EACH=1
  sanitized slow tool program >/dev/null
  expect "errors of a time-out" "$found" "no answer in time"
  exit $failed
) || failed=1

# Each tune has a record of its own, which the runs after it read.
(
  work=$folder details=$folder
  say() { echo "$@" >>"$folder/said"; }
  ashlar() { echo "${ASHLAR_KERNELS:-} $*" >>"$folder/calls"; echo "median  1.0 ms"; }
  scratch >/dev/null
  expect "scratch" $? 0
  python3() { :; }
  int8 >/dev/null
  expect "int8" $? 0
  exit $failed
) || failed=1
for extra in 0 64MB; do
  expect "calls with $extra" "$(grep -c "kernels-scratch-$extra.json .*--extra-scratch $extra" "$folder/calls")" 4
done
# In both batches, all calls except the quantisation use one record and say what they did.
expect "calls in 8 bits" "$(grep -c "kernels-int8.json \(tune\|bench\) .*int8-[0-9]*.ash .*--extra-scratch 256MB" "$folder/calls")" 6
expect "what is said" "$(grep -c 'median 1.0 ms' "$folder/said")" 8

# Children of a killed process hold a pipe open: it closes after the last one ends.
left() { timeout 60 cat "$folder/pipe" >/dev/null; echo $?; }
mkfifo "$folder/pipe"
bounded 5 sh -c 'exit 3'
expect "exit code" $? 3
(bounded 1 sh -c 'sleep 300 & sleep 300'; echo $? >"$folder/code") >"$folder/pipe" &
expect "children after a time-out" "$(left)" 0
wait
expect "code of a time-out" "$(cat "$folder/code")" 124
set -m
(bounded 300 sh -c 'sleep 300 & sleep 300') >"$folder/pipe" &
stage=$!
(sleep 1; kill -TERM -- -$stage) &
expect "children after the stage's end" "$(left)" 0
exit $failed
