#!/usr/bin/env bash
# Runs benchmarks/cuda_device_run.sh in an empty folder, from a pack of stand-in programs, with a
# failure planted in each stage. Checks that the results of the stages before the failure are kept.
# The commands of benchmarks/cuda_device_first_run.md run exactly as written there. Usage:
# cuda_device_dry_run_test.sh BENCHMARKS
set -uo pipefail
benchmarks=$(realpath "$1")
folder=$(mktemp -d)
failed=0 place=""
clean_up() {
  processes | xargs -r kill -KILL 2>/dev/null
  rm -rf "$folder"
}
trap clean_up EXIT
mkdir -p "$folder/bin" "$folder/python" "$folder/build/device_pack/peers" "$folder/pack"

# Each stand-in obeys the words in $PLANTED.
program() {  # path; the rest of the script from stdin
  { printf '#!/bin/bash\nplanted() { [[ " $PLANTED " == *" $1 "* ]]; }\n'; cat; } >"$1"
  chmod +x "$1"
}
program "$folder/pack/ashlar" <<'S'
if planted loader; then echo "ashlar: /lib/libc.so.6: version GLIBC_9.99 not found" >&2; exit 1; fi
echo "$LD_LIBRARY_PATH" >>"$STATE/paths"
echo "$*" >>"$STATE/calls"
output=""
for ((i = 1; i < $#; i++)); do
  j=$((i + 1))
  case "${!i}" in -o | --output) output=${!j} ;; --log) log=${!j} ;; esac
done
[ -z "$output" ] || echo 1.0 >"$output"
case "$1 $*" in
  doctor*--json*) if planted no_driver; then state="no CUDA device, and no NVIDIA driver on this machine"; else state=ready; fi
    echo '{"facts": {"gpu0:0": "'"$state"'", "CUDA device": "Stand-in", "device memory": "1 byte"}}' ;;
  compare*fp16*) if planted smoke; then echo "prob Float32 9 9 9 DIFFERS"; exit 4; else echo "prob Float32 0.1 0.011 0 ok"; fi ;;
  compare*) echo "prob Float32 0.1 1e-06 0 ok" ;;
  verify*--json*) echo '{"ok": true, "device_memory": {"taken_bytes": 7}}' ;;
  plan*) echo '{"pools": {"arena": {"planned_bytes": 3}, "weights": {"planned_bytes": 4}}}' ;;
  bench*) if planted bench; then echo "error: the process is lost" >&2; exit 1; else echo "median  1.0 ms"; fi ;;
  tune*)
    trials='{"problems": [{"trials": [{"kernel": "cudnn:eng1", "ms": 1.5}]}]}'
    if planted tune_fails; then echo "error: nothing was timed" >&2; exit 1; fi
    if planted tune_hangs; then
      trap 'echo "$trials"; exit 130' INT
      while :; do sleep 0.1; done
    fi
    if planted tune_deaf; then trap '' INT; sleep 300; fi
    echo "{}" >"$ASHLAR_KERNELS"
    echo "$trials" ;;
  train*) { echo step,epoch,loss,learning_rate; for i in {1..12}; do echo "$i,1,2.5,0.1"; done; } >"$log" ;;
  profile*) echo '{"rows": [{"type": "Convolution", "ms": 2.0, "computation": 1000000000, "memory": 1000000}]}' ;;
esac
S
program "$folder/pack/latency_server" <<'S'
echo "server $*" >>"$STATE/calls"
if planted server; then echo "error: no memory" >&2; exit 1; fi
if planted engine; then echo 1.9 >"$4"; elif planted nan; then echo nan >"$4"; else echo 1.0001 >"$4"; fi
echo ready
while read -r count; do for ((i = 0; i < count; i++)); do printf '2.0 '; done; echo; done
S
for name in runtime_cuda_device_test tools_gpu_test; do
  program "$folder/pack/$name" <<S
if [ "\$1" = --gtest_list_tests ]; then
  printf 'CudaDevice.\n  MemoryOf$name\n  AllCandidates$name\nOperators/All.\n  ComputeWhatTheirOperatorMeans/ConvBias  # GetParam() = 1\n'
  exit
fi
echo "$name \$*" >>"\$STATE/calls"
planted tests_hang && sleep 300
if planted test && [[ \$* == *ConvBias* ]]; then
  cat <<'T'
tests/cases/kernel_check.cc:337: Failure
Expected: (WorstError(got, expected)) <= (tolerance), actual: 0.003 vs 2e-05
Google Test trace:
tests/cases/kernel_check.cc:304: 3x3: ConvBiasForward {pad 1} Float32{1,8,6,6} -> Float32{1,8,6,6} by cudnn:eng7{2=1}, threads 1
tests/runtime/cuda/device/device_test.cc:25: seed 12
T
  exit 1
fi
echo "[       OK ]"
S
done
echo stand-in >"$folder/pack/commit"
python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1] + "/build/device_pack/pack.tar.xz", "w:xz").add(sys.argv[1] + "/pack", "pack")' "$folder"
cp "$benchmarks"/cuda_device_{run,checks,times}.sh "$benchmarks"/{versus_gpu_frameworks,gpu_peers,gpu_tables}.py "$folder/build/device_pack/"
cp "$benchmarks/peers/bursts.py" "$folder/build/device_pack/peers/"
for name in pytorch jax_resnet50; do
  cat >"$folder/build/device_pack/peers/$name.py" <<'S'
import os, sys, bursts
if "peer" in os.environ["PLANTED"].split() and "eager" in sys.argv: sys.exit("no memory for PyTorch")
bursts.await_turn()
bursts.serve(lambda: None, '{"peak_bytes": 5, "how": "counted"}')
S
done
cat >"$folder/build/device_pack/peers/pytorch_limits.py" <<'S'
import json, os
with open(os.environ["STATE"] + "/calls", "a") as calls: calls.write("limits\n")
print(json.dumps({"flops": dict.fromkeys(("fp32", "tf32", "fp16", "bf16"), 1e12), "bytes": 1e12, "device": os.environ["CARD"], "cuda": "13.0", "cudnn": 91900}))
S
# The part of NumPy that the rows use, so that the test does not need NumPy.
cat >"$folder/python/numpy.py" <<'S'
class Array:
    shape = (1,)
    def __init__(self, value): self.value = value
    def reshape(self, shape): return self
    def __sub__(self, other): return Array(self.value - other.value)
    def __abs__(self): return Array(abs(self.value))
    def max(self): return self.value
class random:
    class default_rng:
        def __init__(self, seed): pass
        def standard_normal(self, shape, dtype): return Array(0.0)
        def normal(self, size): return self
        def integers(self, low, high, size): return Array(0.0)
        def astype(self, dtype): return Array(0.0)
def save(path, array): open(path, "w").write(str(array.value))
def savez(path, **arrays): save(path, next(iter(arrays.values())))
def load(path):
    array = Array(float(open(path).read()))
    return {"prob": array} if str(path).endswith(".npz") else array
S
program "$folder/bin/nvidia-smi" <<'S'
case "$*" in *memory.used*) echo 100 ;; *driver_version,*) echo "$CARD, 580.1, 81559 MiB" ;; *driver_version*) echo 580.1 ;; *) echo "$CARD" ;; esac
S
program "$folder/bin/compute-sanitizer" <<'S'
planted sanitize && { echo "========= Invalid __shared__ read of size 4 bytes
=========     at void ashlar::cuda::PoolTeam<float>(float *)+0x70
========= ERROR SUMMARY: 1 error"; exit 9; }
case "$*" in *racecheck*) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;; *) echo "========= ERROR SUMMARY: 0 errors" ;; esac
S
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$folder/bin/python3"

# The environment of a call named `place`, without any variable of the caller.
call() {  # words planted, then a command line
  local planted=$1
  shift
  mkdir -p "$folder/$place/tmp"
  (cd "$folder" && exec env -i PATH="$folder/bin:/usr/bin:/bin" HOME="$folder" TMPDIR="$folder/$place/tmp" PYTHONPATH="$folder/python" \
    LD_LIBRARY_PATH=/the/drivers/folder STATE="$folder/$place" OUT="$folder/$place/out" CARD="${CARD:-Card A}" PLANTED="$planted" "$@")
}
run() {  # words planted, stages; settings in $settings
  local planted=$1
  shift
  # shellcheck disable=SC2086
  call "$planted" ${settings:-} bash build/device_pack/cuda_device_run.sh "$folder/$place/out" "$@" >"$folder/$place.txt" 2>&1
}
expect() {  # what, got, expected
  [ "$2" = "$3" ] || { echo "$place: $1: got '$2', expected '$3'"; failed=1; }
}
has() {  # file, patterns
  local file=$folder/$place/out/$1
  shift
  for pattern in "$@"; do
    grep -qE -- "$pattern" "$file" || { echo "$place: no '$pattern' in"; cat "$file"; failed=1; }
  done
}
lacks() {  # file, pattern
  ! grep -E -- "$2" "$folder/$place/out/$1" || { echo "$place: '$2' in $1"; failed=1; }
}
# Finds processes that this test started, by a mark in their environment.
processes() {
  local each
  for each in /proc/[0-9]*; do
    { tr '\0' '\n' <"$each/environ" | grep -q "^STATE=$folder/"; } 2>/dev/null && echo "${each#/proc/}"
  done
}
few_files() {
  local count
  count=$(find "$folder/$place/out" -type f | wc -l)
  [ "$count" -le 8 ] || { echo "$place: $count files: $(ls "$folder/$place/out")"; failed=1; }
}
ended() {
  few_files
  expect "processes left" "$(processes)" ""
}
details() { tar -tzf "$folder/$place/out/details.tgz" | sort | paste -sd ' '; }
smoke_is_there() {
  has summary.txt 'gpu0:0: ready' 'resnet50 --batch 10: fp32 \(1e-06\) tf32 \(1e-06\) fp16 \(0.011\) bf16' 'verify-fp16' \
    'untuned, batch 64 --precision fp32: median 1.0 ms' '^smoke: ok'
  has doctor.json ready
}

mapfile -t commands < <(sed -n 's/^    \(.*bash build\/device_pack\/cuda_device_run.sh .*\)/\1/p' "$benchmarks/cuda_device_first_run.md")
expect "commands" "${#commands[@]}" 2

place=commands
call "" bash -c "${commands[0]}" >"$folder/first.txt" 2>&1
expect "exit code" $? 0
smoke_is_there
has summary.txt '^tests: ok' 'memcheck, a model.*: 0 errors' 'racecheck, some kernels: 0 errors' '^sanitize:one: ok' '^quick:fp16: ok'
lacks summary.txt AllCandidates
expect "rows" "$(wc -l <"$folder/$place/out/speed.jsonl")" 3
expect "details" "$(details)" "./ ./trials-fp16-1.json ./trials-fp16-10.json ./trials-fp16-64.json"
has table.md 'fp16, batch 64 .* 0.0001 ' '\| sum \| run \|'
expect "the inherited path" "$(sort -u "$folder/$place/paths" | grep -c ':/the/drivers/folder:/usr/local/nvidia/lib64')" 1
ended
# The second call continues without copying any file.
rm -r "$folder/$place/out"
call "" bash -c "${commands[1]}" >"$folder/second.txt" 2>&1
expect "exit code" $? 0
has summary.txt '^quick:fp16: ok' '^quick:bf16: ok' '^jax:fp16: ok' '^compile:fp16: ok'
has log.txt 'batch 1 in fp16: measured before'
expect "rows" "$(wc -l <"$folder/$place/out/speed.jsonl")" 18
expect "limits measured" "$(grep -c limits "$folder/$place/calls")" 1
ended

place=no_driver
run no_driver smoke quick:fp16
expect "exit code" $? 1
has summary.txt 'Card A, 580.1' 'no NVIDIA driver' 'LD_LIBRARY_PATH: /the/drivers/folder' 'libcuda.so.1:' 'not run, since'
has doctor.json 'no NVIDIA driver'
lacks log.txt '#### smoke'
ended

place=loader
run loader smoke
expect "exit code" $? 1
has summary.txt 'GLIBC_9.99 not found' 'not run, since'
ended

place=smoke
run smoke smoke quick:fp16
expect "exit code" $? 1
has summary.txt 'fp32 \(1e-06\)' 'fp16:FAILED\(4\) \(9\)' 'resnet18 by layer' 'untuned, batch 1 --precision fp16' '^smoke: FAILED' '^quick:fp16: ok'
ended

place=together
settings="ONLY_TESTS=Means"
run "" tests:memory tests:rest+sanitize:kernels+train every:fp16
expect "exit code" $? 0
has summary.txt '^tests:memory: ok' '  tests:rest: ok' '  sanitize:kernels: ok' '1 operators by three tools' '  train: ok' \
  'resnet18 --momentum.*apart by steps 0e\+00' '^tests:rest\+sanitize:kernels\+train: ok' '^every:fp16: ok'
has table.md 'CUDA graph, folded .*torch.compile.*JAX'
settings=""
ended

place=together_fails
settings="ONLY_TESTS=Means"
run sanitize tests:rest+sanitize:kernels quick:fp16
expect "exit code" $? 1
has summary.txt '  tests:rest: ok' 'racecheck, .*: FAILED \(9\): .*1 error' '  sanitize:kernels: FAILED' '^quick:fp16: ok'
settings=""
ended

place=limit
settings="LIMIT=16"
run tests_hang smoke tests quick:fp16
expect "exit code" $? 1
smoke_is_there
has summary.txt '^tests: out of time' '^quick:fp16: not begun, out of time'
settings=""
ended

# A planted failure of each further stage takes minutes in all: at night (scripts/nightly.sh).
[ "${ASHLAR_LONG_TESTS:-0}" != 0 ] || exit $failed

place=bench
run bench smoke
expect "exit code" $? 1
has summary.txt 'fp16 \(0.011\)' 'untuned, batch 1 --precision fp16: error: the process is lost' '^smoke: FAILED'
ended

place=test
run test tests smoke
expect "exit code" $? 1
has summary.txt 'Means/ConvBias: FAILED \(1\)' 'actual: 0.003' 'by cudnn:eng7\{2=1\}, threads 1' 'CudaDevice.AllCandidates.*ok' '^tests: FAILED'
smoke_is_there
ended

place=sanitize
run sanitize smoke sanitize:one
expect "exit code" $? 1
smoke_is_there
has summary.txt 'memcheck, a model in fp16: 1 errors, 1 in our kernels and copies; exit 9' '^sanitize:one: FAILED'
ended

for place in tune_fails tune_hangs tune_deaf; do
  settings="TUNE=0.01 ROW_SECONDS=1 LIMIT=34"
  run $place quick:fp16
  case $place in
    tune_fails) expect "exit code" $? 0; has table.md 'not tuned' 'Left out:' 'batch 64: tune: .*nothing was timed'; has speed.jsonl '"tuned": false' ;;
    tune_hangs) has speed.jsonl '"tuned": true'; expect "details" "$(details | grep -o trials-fp16-1.json)" trials-fp16-1.json ;;
    tune_deaf) has speed.jsonl '"tuned": false'; has table.md 'batch 1: tune: ' ;;
  esac
  ended
done
grep -q 'server .*fp16$' "$folder/tune_fails/calls" || { echo "tune_fails: the server takes a record"; failed=1; }
expect "uses of a record" "$(grep -E '^(plan|verify|profile)' "$folder/tune_fails/calls" | grep -vc no-autotune)" 0
settings=""

for place in engine nan; do
  run $place smoke quick:fp16
  expect "exit code" $? 1
  smoke_is_there
  has summary.txt 'wrong: the outputs differ' '^quick:fp16: FAILED'
  has table.md 'WRONG: (0.9|not finite)'
  ended
done
# The stage is measured again after the engine is fixed.
rm -r "$folder/$place/out"
run "" quick:fp16
expect "exit code" $? 0
has speed.jsonl '"wrong": false' '"complete": true'
ended

place=peer
run peer quick:fp16
has table.md 'eager: ended with 1: no memory for PyTorch' 'fp16, batch 10 .*CUDA graph'
ended

place=server
run server smoke quick:fp16
expect "exit code" $? 1
smoke_is_there
has summary.txt 'ashlar: ended with 1' '^quick:fp16: FAILED'
ended

# Rows of another card are kept separate.
place=cards
run "" quick:fp16
rm -r "$folder/$place/out"
CARD="Card B" run "" quick:fp16
expect "rows" "$(wc -l <"$folder/$place/out/speed.jsonl")" 6
has table.md '^Card A' '^Card B'
expect "limits measured" "$(grep -c limits "$folder/$place/calls")" 2
ended

# Runs all stages, with the largest possible number of files.
place=all
run "" smoke quick:fp16 flight scratch int8 models sanitize
has summary.txt '^flight: ok' '^scratch: ok' '^int8: ok' '^models: ok' '^sanitize: ok'
expect "details of 8 bits" "$(details | grep -c int8-64.json)" 1
ended

# Stops the run from outside, by SIGTERM and by SIGKILL.
for place in TERM KILL; do
  run tests_hang quick:fp16 smoke tests &
  for _ in {1..300}; do
    grep -q 'gtest_filter' "$folder/$place/calls" 2>/dev/null && break
    sleep 0.1
  done
  kill -$place "$(processes | sort -n | while read -r each; do
    grep -qa cuda_device_run.sh "/proc/$each/cmdline" && echo "$each" && break
  done)"
  wait
  smoke_is_there
  has table.md 'fp16, batch 64'
  expect "rows" "$(wc -l <"$folder/$place/out/speed.jsonl")" 3
  if [ $place = TERM ]; then
    has summary.txt 'ended from outside'
    ended
  fi
done
exit $failed
