#!/usr/bin/env bash
# Tests, checks and times Ashlar on a machine with a GPU, from the archive of cuda_device_pack.sh.
# Usage: cuda_device_run.sh OUT [STAGE...]
#   OUT    the folder of results, at most eight files, written continuously:
#          summary.txt      a few lines for each stage, also on stdout
#          log.txt          the output of all programs
#          doctor.json      the machine
#          deviceprop.json  the device as cuDNN describes it
#          speed.jsonl      the rows, one a line; table.md is made of it
#          kernels.json     the record of `ashlar tune`
#          details.tgz      trials-P-BATCH.json: the time of each engine that `tune` tried; records
#                           of other stages
#   STAGE  smoke          ResNet-50 at batch 10 against the CPU in four precisions, memory, times
#                         without tuning: about a minute
#          tests          the device's tests, each in its own process, $JOBS (8) at a time;
#                         tests:memory and tests:rest are its two parts
#          quick:P        ResNet-50 at batch 1, 10, 64 in precision P (fp16, tf32, fp32, bf16), and
#                         PyTorch eager and as a CUDA graph: about 45 seconds a batch
#          jax:P          the same with the CUDA graph and JAX
#          every:P        the same with PyTorch eager, as a CUDA graph, as one with folded
#                         normalisation, by torch.compile(mode="reduce-overhead"), and JAX
#          speed:P        the same with PyTorch eager, as a CUDA graph, as one with folded
#                         normalisation, and JAX, twice the rounds: one to two minutes a batch
#          inductor:P     the same with the CUDA graph and torch.compile(mode="reduce-overhead")
#          compile:P      the same with the CUDA graph and torch.compile(mode="max-autotune"): more
#                         than 150 seconds at batch 64
#          freeze:P       the same with torch.compile and normalisation folded into the filters
#          sanitize:one   compute-sanitizer over a model and the kernels with barriers: at most
#                         three minutes
#          sanitize:kernels  memcheck, racecheck and synccheck of all our kernels, by operator,
#                         $JOBS at a time
#          sanitize       compute-sanitizer's tools over all kernels; each has a time limit, which
#                         may not suffice
#          flight         ResNet-50 in fp16 with several runs in flight, at batch 1 and 64
#          scratch        ResNet-50 in fp16, tuned with and without room for the workspace of faster
#                         kernels
#          int8           ResNet-50 in 8 bits at batch 1 and 64, by our own kernels and tuned;
#                         int8-BATCH.json in details.tgz has both by layer
#          compile_cache  lets torch.compile fill its cache with the code of all rows (not with
#                         choices by time); the rows of inductor and every start faster after it
#          train          losses of training on the device beside the CPU's, and memory
#          engines        engines.json in details.tgz: what cuDNN offers for wide filters in NCHW,
#                         with its notes
#          models         every model of the zoo against the CPU, in all precisions; verify and
#                         profile
#          A+B            stages that run at the same time: of checks, not of times
#          `doctor` always runs first; if it finds no device, nothing else runs.
# The remaining stages share $LIMIT seconds (570). cuda_device_first_run.md has the commands for a
# first session, and how to continue after their results. Settings from the environment:
#   SECONDS_EACH      seconds of one program (120; tests 240)
#   JOBS              processes of the tests
#   SKIP_TESTS, ONLY_TESTS  patterns of tests to leave out, and to run alone
#   ROW_SECONDS       a row of speed begins only if so many are left (40, with torch.compile 150)
#   BATCHES           of smoke and of rows ("1 10 64")
#   TUNE, ROUNDS      seconds of `tune` for a row (15; quick 8), and rounds (10; quick and jax 5)
# speed.jsonl and kernels.json of an earlier call on the same machine, or next to this script, are
# continued. Complete rows are not measured again, so an unfinished stage can simply be repeated.
# The exit code is 0 if every stage was "ok".
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 2; }
mkdir -p "$1"
out=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- tests speed:fp16 speed:tf32 speed:fp32 flight sanitize models compile:fp16 compile:tf32 compile:fp32
limit=${LIMIT:-570}
# Stays for a later call as long as the machine does.
work=${TMPDIR:-/tmp}/ashlar_device
mkdir -p "$work"
rm -rf "$work/pack"
# A bare image may lack xz; Python has its own.
unpack() {
  tar -C "$2" -xJf "$1" 2>/dev/null ||
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall(sys.argv[2])' "$1" "$2"
}
unpack "$here/pack.tar.xz" "$work" || exit 1
pack=$work/pack
commit=$(cat "$pack/commit")
# Files of an earlier call on this machine have priority over transferred ones.
for name in speed.jsonl kernels.json; do
  for place in "$work/kept" "$here"; do
    if [ -f "$place/$name" ]; then cp "$place/$name" "$out/"; break; fi
  done
done
# Files that are returned in one archive.
details=$work/details
mkdir -p "$work/kept" "$details"
# Keeps the driver open: otherwise it starts again with every program.
{ exec 9</dev/nvidia0; } 2>/dev/null || true
export ASHLAR_KERNELS="$out/kernels.json" TORCHINDUCTOR_CACHE_DIR="$work/inductor" PYTHONUNBUFFERED=1

# CUDA's libraries: from Python packages, then from the toolkit.
cuda=$(python3 - <<'P' 2>/dev/null
import glob, site, sys
roots = list(dict.fromkeys(site.getsitepackages() + [p for p in sys.path if p]))
print(":".join(p for root in roots for p in sorted(glob.glob(root + "/nvidia/*/lib"))))
P
)
# On some machines only this variable names the folder of the driver's library, libcuda.so.1.
libraries="$pack${cuda:+:$cuda}:/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
libraries="$libraries:/usr/local/nvidia/lib64:/usr/local/nvidia/lib"

# Runs ashlar with the libraries of the pack; Python keeps its own libraries.
ashlar() { LD_LIBRARY_PATH=$libraries timeout --foreground -k 5 "${SECONDS_EACH:-120}" "$pack/ashlar" "$@"; }
# Runs a test program by name: runtime_cuda_device_test, tools_gpu_test.
device_test() { LD_LIBRARY_PATH=$libraries timeout --foreground -k 5 "${SECONDS_EACH:-120}" "$pack/$1" "${@:2}"; }

# Adds a line to the summary and the log, and shows it. Descriptor 3 is the script's stdout.
say() { echo "$*" | tee -a "$out/summary.txt" "$out/log.txt" >&3; }

# The functions of the stages.
. "$here/cuda_device_checks.sh"
. "$here/cuda_device_times.sh"

# Reads lines of arguments, and runs a command with each, $JOBS at a time. Fails if one does.
side_by_side() {
  local status=0 running=0 jobs=${JOBS:-8} words
  while read -r -a words; do
    if [ $running -ge "$jobs" ]; then wait -n || status=1; running=$((running - 1)); fi
    "$@" "${words[@]}" </dev/null &
    running=$((running + 1))
  done
  while [ $running -gt 0 ]; do wait -n || status=1; running=$((running - 1)); done
  return $status
}

# Sets `model` to a file of ResNet-50 at a batch size.
resnet50_of() {
  model=$work/resnet50-$1.ash
  [ -f "$model" ] || ashlar zoo resnet50 --batch "$1" -o "$model" --quiet
}

# Makes the table of the rows measured so far.
make_table() {
  [ ! -s "$out/speed.jsonl" ] || python3 "$here/versus_gpu_frameworks.py" --table "$out/speed.jsonl" >"$out/table.md"
}

# Moves the files of a stage to where the next call or the caller finds them, however the stage
# ended.
keep() {
  make_table 2>/dev/null
  for name in speed.jsonl kernels.json; do
    [ ! -f "$out/$name" ] || cp "$out/$name" "$work/kept/"
  done
  [ -z "$(ls "$details")" ] || tar -C "$details" -czf "$out/details.tgz" .
  # A log of more than 16 MB may not be returned: the middle is left out.
  if [ "$(stat -c %s "$out/log.txt")" -gt 15000000 ]; then
    { head -c 4000000 "$out/log.txt"; printf '\n#### left out\n'; tail -c 10000000 "$out/log.txt"; } >"$work/log.txt"
    cp "$work/log.txt" "$out/log.txt"
  fi
}

# Ends a process group; kills its remaining processes after five seconds.
end_group() {
  local _
  kill -TERM -- -"$1" 2>/dev/null
  for _ in {1..50}; do
    kill -0 -- -"$1" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- -"$1" 2>/dev/null
}

stage() {
  local name=$1 left=$((limit - SECONDS)) status begun=$SECONDS
  shift
  echo "#### $name" >>"$out/log.txt"
  if [ $left -lt 10 ]; then
    say "$name: not begun, out of time"
    failed=1
    return 1
  fi
  # A stage is a function of this script; `timeout` runs only programs.
  ( "$@" ) >>"$out/log.txt" 2>&1 &
  running=$!
  ( sleep "$left"; kill -TERM -- -$running; sleep 5; kill -KILL -- -$running ) >/dev/null 2>&1 &
  watch=$!
  wait $running 2>/dev/null
  status=$?
  kill -TERM -- -$watch 2>/dev/null
  wait $watch 2>/dev/null
  end_group $running
  running="" watch=""
  case $status in
    0) say "$name: ok ($((SECONDS - begun)) s)" ;;
    143 | 137) say "$name: out of time after $((SECONDS - begun)) s" ;;
    *) say "$name: FAILED (exit $status, $((SECONDS - begun)) s)" ;;
  esac
  keep
  [ $status = 0 ] || failed=1
  return $status
}

# Shows the table last, because the end of a long output is kept.
finish() {
  trap - EXIT TERM INT HUP
  for group in $watch $running $imports; do end_group "$group"; done 2>/dev/null
  wait 2>/dev/null
  keep
  [ ! -s "$out/table.md" ] || cat "$out/table.md"
  exit "$1"
}

exec 3>&1
failed=0 running="" watch="" imports=""
set -m  # each stage gets its own process group
trap 'say "ended from outside"; finish 143' TERM INT HUP
trap 'finish $failed' EXIT
device=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null)
say "${device:-no answer of nvidia-smi}; Ashlar $commit"
# The peers' packages may be on a slow disk: imports them once while the first stages run.
python3 -c 'import torch, torchvision, jax' >/dev/null 2>&1 &
imports=$!
stage doctor doctor || { say "not run, since gpu0:0 is not ready: $*"; exit; }
# The command of a stage, in `words`.
words_of() {
  local precision=${1#*:} left=$((limit - SECONDS - 15))
  case "$1" in
    tests | models | sanitize | flight | scratch | int8 | smoke | train | engines | compile_cache) words=("$1") ;;
    tests:memory | tests:rest) words=(tests "$precision") ;;
    sanitize:one) words=(sanitize one) ;;
    sanitize:kernels) words=(sanitize_kernels) ;;
    quick:*) words=(speed "$precision" $left graph eager) ;;
    every:*) words=(speed "$precision" $left eager graph folded inductor jax) ;;
    jax:*) words=(speed "$precision" $left graph jax) ;;
    speed:*) words=(speed "$precision" $left eager graph folded jax) ;;
    inductor:*) words=(speed "$precision" $left graph inductor) ;;
    compile:*) words=(speed "$precision" $left graph compile) ;;
    freeze:*) words=(speed "$precision" $left graph freeze) ;;
    *) say "unknown stage $1"; return 1 ;;
  esac
  case "$1" in
    quick:* | every:*) export TUNE=${TUNE:-8} ROUNDS=${ROUNDS:-5} ;;
    jax:* | inductor:*) export ROUNDS=${ROUNDS:-5} ;;
  esac
}

# Runs a stage, or several joined by "+" at the same time. The output of each follows the other's.
one_stage() {
  local status=0 name words parts pids=()
  IFS=+ read -r -a parts <<<"$1"
  for name in "${parts[@]}"; do
    words_of "$name" || return 1
    if [ ${#parts[@]} = 1 ]; then "${words[@]}"; return; fi
    ( begun=$SECONDS
      "${words[@]}" >"$work/stage-$name.txt" 2>&1
      code=$?
      say "  $name: $([ $code = 0 ] && echo ok || echo "FAILED ($code)") ($((SECONDS - begun)) s)"
      exit $code ) &
    pids+=($!)
  done
  trap 'cat "$work"/stage-*.txt; exit 143' TERM
  for name in "${pids[@]}"; do wait "$name" || status=1; done
  cat "$work"/stage-*.txt
  return $status
}

for name in "$@"; do
  [ "$name" = doctor ] || stage "$name" one_stage "$name"
done
