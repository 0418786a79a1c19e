#!/usr/bin/env bash
# On a machine with a GPU: tests, memory checks, accuracy and speed of what cuda_device_pack.sh packed.
# Usage: cuda_device_run.sh OUT [STAGE...]
#   OUT    where results go, as they come:
#          summary.txt   a line or a few for each stage, also on stdout
#          log.txt       all that the programs said
#          speed.jsonl   a row a line, and table.md made of it
#          kernels.json  what `ashlar tune` found out
#          doctor.json   the machine
#   STAGE  tests          the device's tests, each in a process of its own
#          speed:P        ResNet-50 at batch 1, 10, 64 in precision P (fp16, tf32, fp32, bf16) beside
#                         PyTorch eager, as a CUDA graph and so with normalisation folded, and JAX: one to two
#                         minutes a batch
#          compile:P      the same beside the CUDA graph and torch.compile: two to four minutes a batch
#          freeze:P       the same beside torch.compile with normalisation folded into the filters
#          sanitize       compute-sanitizer's tools
#          flight         ResNet-50 in fp16 with several runs on the way, at batch 1 and 64
#          scratch        ResNet-50 in fp16, tuned with and without room for the scratch of faster kernels
#          int8           ResNet-50 in 8 bits at batch 1 and 64, by kernels of our own and as tuned; int8-BATCH.json
#                         has both kinds by layer
#          models         every model of the zoo against the CPU, in all precisions; verify and profile
#          `doctor` always comes first, and where it finds no device nothing else is run.
# $LIMIT seconds (570) are shared by the stages that are left. Where a call may take ten minutes, three do
# it all; what comes first is what tells most:
#   1: tests speed:fp16 speed:tf32 speed:fp32
#   2: speed:fp32 flight sanitize compile:fp16
#   3: models compile:tf32 compile:fp32 freeze:fp16
# speed.jsonl and kernels.json of an earlier call, put beside this script, are gone on with: rows that are
# complete are not measured again, so a stage that had no time may simply be named again.
# The exit code is 0 if every stage was "ok".
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 2; }
mkdir -p "$1"
out=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- tests speed:fp16 speed:tf32 speed:fp32 flight sanitize models compile:fp16 compile:tf32 compile:fp32
limit=${LIMIT:-570}
# Kept for a later call as long as the machine is.
work=${TMPDIR:-/tmp}/ashlar_device
mkdir -p "$work"
rm -rf "$work/pack"
# A bare image need not have xz; Python brings its own.
unpack() {
  tar -C "$2" -xJf "$1" 2>/dev/null ||
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall(sys.argv[2])' "$1" "$2"
}
unpack "$here/pack.tar.xz" "$work" || exit 1
pack=$work/pack
commit=$(cat "$pack/commit")
for name in speed.jsonl kernels.json; do
  if [ -f "$here/$name" ]; then cp "$here/$name" "$out/"; fi
done
export ASHLAR_KERNELS="$out/kernels.json" TORCHINDUCTOR_CACHE_DIR="$work/inductor" PYTHONUNBUFFERED=1

# CUDA's libraries: those that Python packages brought, then the toolkit's.
cuda=$(python3 - <<'P' 2>/dev/null
import glob, site, sys
roots = list(dict.fromkeys(site.getsitepackages() + [p for p in sys.path if p]))
print(":".join(p for root in roots for p in sorted(glob.glob(root + "/nvidia/*/lib"))))
P
)
libraries="$pack:$cuda:/usr/local/cuda/lib64"

# Programs of the pack only: Python's own libraries are for Python.
ashlar() { LD_LIBRARY_PATH=$libraries timeout --foreground -k 5 "${SECONDS_EACH:-120}" "$pack/ashlar" "$@"; }
# A program of tests by name: runtime_cuda_device_test, tools_gpu_test.
device_test() { LD_LIBRARY_PATH=$libraries timeout --foreground -k 5 "${SECONDS_EACH:-120}" "$pack/$1" "${@:2}"; }

# A line for who reads along, and for the summary. Descriptor 3 is the script's stdout.
say() { echo "$*" | tee -a "$out/summary.txt" "$out/log.txt" >&3; }

doctor() {
  local state
  ashlar doctor
  ashlar doctor --json --quiet >"$out/doctor.json" || return 1
  state=$(python3 -c 'import json, sys; f = json.load(open(sys.argv[1]))["facts"]
print(f["gpu0:0"]); print(*(f"{k}: {v}" for k, v in f.items() if "CUDA" in k or k == "device memory"), sep="; ")' \
    "$out/doctor.json") || return 1
  say "gpu0:0: $state"
  [ "${state%%$'\n'*}" = ready ]
}

tests() {
  local status=0
  tests_of runtime_cuda_device_test || status=1
  tests_of tools_gpu_test || status=1
  return $status
}

tests_of() {
  local program=$1 name suite="" status=0 output begun
  while read -r name; do
    case "$name" in
      *.) suite=$name; continue ;;
      '' | *' '*) continue ;;
    esac
    begun=$SECONDS
    output=$(device_test "$program" --gtest_filter="$suite$name" 2>&1)
    case $?:$output in
      0:*'[  SKIPPED ]'*)
        # Of a device that does not answer: nothing was tested.
        case "$suite$name" in
          CudaDevice.*) status=1; say "  $suite$name: FAILED: skipped" ;;
          *) say "  $suite$name: does not apply" ;;
        esac ;;
      0:*) say "  $suite$name: ok ($((SECONDS - begun)) s)" ;;
      124:* | 137:*) status=1; say "  $suite$name: FAILED: out of time" ;;
      *) status=1; say "  $suite$name: FAILED"; say "$(grep -E -m 6 'Failure|error|rror:|Which|Actual|seed' <<<"$output")" ;;
    esac
    echo "$output"
  done < <(device_test "$program" --gtest_list_tests | sed 's/^ *//; s/ *#.*//')
  return $status
}

# One line of a model: what was checked and how it ended.
check() {
  local what=$1 output code begun=$SECONDS
  shift
  output=$(ashlar "$@" --quiet 2>&1)
  code=$?
  echo "$output"
  if [ $code = 0 ]; then
    line="$line $what"
    [ $((SECONDS - begun)) -lt 5 ] || line="$line($((SECONDS - begun)) s)"
  else
    failures=$((failures + 1))
    line="$line $what:FAILED($code)"
    say "    $what: $(tail -n 2 <<<"$output")"
  fi
}

models() {
  local failures=0 name line model reference begun options
  for name in squeezenet resnet18 mobilenet_v2 inception_v1 resnet50 vgg19; do
    begun=$SECONDS line="" model=$work/$name.ash reference=$work/$name.npz
    [ -f "$model" ] || ashlar zoo "$name" --batch 1 -o "$model" --quiet || { failures=1; continue; }
    # The CPU's own kernels, which are tested against the reference where Ashlar is built.
    ashlar run "$model" --output "$reference" --exact --top 0 --quiet || { failures=1; continue; }
    options=("$model" --device gpu0:0)
    # With sums in double precision SqueezeNet, MobileNet and Inception end at up to 4.3e-2 (TF32), 5.2e-2 (fp16)
    # and 2.6e-1 (bf16) of the largest output.
    check fp32 compare "${options[@]}" --ref "$reference" --rtol 1e-3
    check tf32 compare "${options[@]}" --ref "$reference" --allow-tf32 --rtol 1e-1
    check fp16 compare "${options[@]}" --ref "$reference" --precision fp16 --rtol 1e-1
    check bf16 compare "${options[@]}" --ref "$reference" --precision bf16 --rtol 4e-1
    check verify verify "${options[@]}"
    check verify-fp16 verify "${options[@]}" --precision fp16
    check least-budget verify "${options[@]}" --memory-budget min
    check profile profile "${options[@]}" --by op --warmup 10
    say "  $name:$line ($((SECONDS - begun)) s)"
  done
  [ $failures = 0 ]
}

# compute-sanitizer: on the PATH, or where the toolkit has it.
sanitizer() {
  local place
  for place in "$(command -v compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer \
    /usr/local/cuda*/compute-sanitizer/compute-sanitizer /opt/cuda/bin/compute-sanitizer; do
    if [ -x "$place" ]; then echo "$place"; return; fi
  done
  return 1
}

# A command with all that it starts, in a process group of their own: gone together when their seconds are
# over, or the stage's.
bounded() {
  local seconds=$1 code child
  shift
  timeout -k 5 "$seconds" "$@" &
  child=$!
  trap 'kill -TERM $child 2>/dev/null; wait $child; exit 143' TERM
  wait $child
  code=$?
  trap - TERM
  return $code
}

# A tool of compute-sanitizer over a program; in `found` its errors, in `ours` those in our kernels or copies.
sanitized() {
  local what=$1 tool=$2 record="$work/sanitizer.txt" begun=$SECONDS
  shift 2
  LD_LIBRARY_PATH=$libraries bounded "${SECONDS_EACH:-150}" "$tools" --tool "$tool" --print-limit 200 "$@" >"$record" 2>&1
  local code=$?
  cat "$record"
  found=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p; s/.*RACECHECK SUMMARY: \([0-9]*\) hazard.*/\1/p' "$record" |
    tail -n 1)
  ours=$(grep -cE '^=+ +at .*ashlar|^=+ .*(access|hazard).* ashlar::|access by cuda' "$record")
  [ $code != 124 ] && [ $code != 137 ] || found="no answer in time"
  say "  $tool, $what: ${found:-no summary} errors, $ours in our kernels and copies; exit $code ($((SECONDS - begun)) s)"
  [ $code = 0 ] && [ -n "$found" ]
}

sanitize() {
  local status=0 found ours small=$work/small.ash tool tools
  tools=$(sanitizer) || { say "  compute-sanitizer is neither on the PATH nor in the toolkit's folder"; return 1; }
  "$tools" --version | tail -n 1
  ashlar zoo squeezenet --image 64 -o "$small" --quiet || return 1
  # Our kernels only, by the namespace in their mangled names: those of the libraries take long, and are
  # not ours. Calls that fail are part of what libraries and a test do.
  for tool in memcheck racecheck synccheck; do
    local options=(--kernel-name kns=6ashlar --error-exitcode 9)
    [ $tool != memcheck ] || options+=(--report-api-errors no)
    sanitized "kernels by themselves" $tool "${options[@]}" "$pack/runtime_cuda_device_test" \
      --gtest_filter='*.ComputeWhatTheirOperatorMeans/*' || status=1
    [ "${found:-x}" = 0 ] || status=1
  done
  # Whole runs, the libraries' kernels included: what these read and write is memory that we gave them.
  # A read of memory that nothing wrote is ours to explain only where our kernel reads.
  for options in "" "--precision fp16"; do
    # shellcheck disable=SC2086
    sanitized "a model ${options:-in fp32}" memcheck --report-api-errors no --error-exitcode 9 \
      "$pack/ashlar" run "$small" --device gpu0:0 --iterations 3 --no-autotune $options || status=1
    # shellcheck disable=SC2086
    sanitized "a model ${options:-in fp32}" initcheck \
      "$pack/ashlar" run "$small" --device gpu0:0 --iterations 3 --no-autotune $options || status=1
    [ "$ours" = 0 ] || status=1
  done
  return $status
}

# Sets `model` to a file of ResNet-50 at a batch.
resnet50_of() {
  model=$work/resnet50-$1.ash
  [ -f "$model" ] || ashlar zoo resnet50 --batch "$1" -o "$model" --quiet
}

# One run at a time, then with the copies of two overlapping, then with their work overlapping too.
flight() {
  local batch options status=0 model output
  for batch in 1 64; do
    resnet50_of "$batch" || return 1
    for options in "" "--in-flight 2" "--in-flight 2 --arena-each"; do
      # shellcheck disable=SC2086
      output=$(ashlar bench "$model" --device gpu0:0 --precision fp16 --duration 2s --quiet $options 2>&1) || status=1
      echo "$output"
      say "  batch $batch ${options:---in-flight 1}:" \
        "$(grep -E '^(median|p90|runs/s|images/s|arena)|error' <<<"$output" | tr -s ' ' | paste -sd ';')"
    done
  done
  return $status
}

scratch() {
  local batch extra status=0 model output
  for batch in 1 64; do
    resnet50_of "$batch" || return 1
    for extra in 0 64MB; do
      local options=("$model" --device gpu0:0 --precision fp16 --extra-scratch "$extra" --quiet)
      output=$(export ASHLAR_KERNELS="$out/kernels-scratch-$extra.json"
        ashlar tune "${options[@]}" --seconds 20 2>&1 && ashlar bench "${options[@]}" --duration 2s 2>&1) || status=1
      echo "$output"
      say "  batch $batch --extra-scratch $extra:" \
        "$(grep -E '^(median|p90|images/s|arena)|error' <<<"$output" | tr -s ' ' | paste -sd ';')"
    done
  done
  return $status
}

# What is quantised with numbers for images is as fast as what has seen images.
int8() {
  local batch record status=0 model output
  export ASHLAR_KERNELS="$out/kernels-int8.json"
  python3 -c 'import sys, numpy; numpy.savez(sys.argv[1], data=numpy.random.default_rng(1).normal(size=(64, 3, 224, 224)).astype("f"))' \
    "$work/images.npz" || return 1
  for batch in 1 64; do
    resnet50_of "$batch" || return 1
    ashlar quantize "$model" --calibrate "$work/images.npz" -o "$work/int8-$batch.ash" --quiet || return 1
    local options=("$work/int8-$batch.ash" --device gpu0:0 --extra-scratch 256MB --quiet)
    ashlar tune "${options[@]}" --seconds 20 --json >"$out/int8-$batch.json" || status=1
    for record in --no-autotune ""; do
      # shellcheck disable=SC2086
      output=$(ashlar bench "${options[@]}" --duration 2s $record 2>&1) || status=1
      echo "$output"
      say "  batch $batch ${record:-as tuned}:" "$(grep -E '^(median|p90|images/s|arena)|error' <<<"$output" | tr -s ' ' | paste -sd ';')"
    done
  done
  return $status
}

speed() {
  local precision=$1 left=$2
  shift 2
  python3 "$here/versus_gpu_frameworks.py" --build "$pack" --libraries "$libraries" --folder "$work" --commit "$commit" \
    --precision "$precision" --tune --json "$out/speed.jsonl" --limit "$left" --peers "$@"
  local status=$?
  [ $status = 0 ] || say "$(tac "$out/log.txt" | sed '/^#### /q' | tac | grep -aE '^(batch |[a-z]+: )' | tail -n 8 | cut -c 1-400)"
  python3 "$here/versus_gpu_frameworks.py" --table "$out/speed.jsonl" >"$out/table.md" 2>/dev/null
  return $status
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
  # A stage is this script's function: `timeout` takes programs only.
  ( "$@" ) >>"$out/log.txt" 2>&1 &
  running=$!
  ( sleep "$left"; kill -TERM -- -$running; sleep 5; kill -KILL -- -$running ) >/dev/null 2>&1 &
  watch=$!
  wait $running 2>/dev/null
  status=$?
  kill -TERM -- -$watch 2>/dev/null
  wait $watch 2>/dev/null
  running="" watch=""
  case $status in
    0) say "$name: ok ($((SECONDS - begun)) s)" ;;
    143 | 137) say "$name: out of time after $((SECONDS - begun)) s" ;;
    *) say "$name: FAILED (exit $status, $((SECONDS - begun)) s)" ;;
  esac
  [ $status = 0 ] || failed=1
  return $status
}

# What was measured is told last, since of a long output the end is kept.
finish() {
  trap - EXIT TERM INT HUP
  [ -z "$running" ] || kill -TERM -- -"$running" 2>/dev/null
  [ -z "$watch" ] || kill -TERM -- -"$watch" 2>/dev/null
  wait 2>/dev/null
  if [ -s "$out/speed.jsonl" ]; then
    python3 "$here/versus_gpu_frameworks.py" --table "$out/speed.jsonl" >"$out/table.md" && cat "$out/table.md"
  fi
  exit "$1"
}

exec 3>&1
failed=0 running="" watch=""
set -m  # stages are process groups of their own
trap 'say "ended from outside"; finish 143' TERM INT HUP
trap 'finish $failed' EXIT
device=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null)
say "${device:-no answer of nvidia-smi}; Ashlar $commit"
stage doctor doctor || { say "not run, since gpu0:0 is not ready: $*"; exit; }
for name in "$@"; do
  precision=${name#*:}
  case "$name" in
    doctor) ;;
    tests | models | sanitize | flight | scratch | int8) stage "$name" "$name" ;;
    speed:*) stage "$name" speed "$precision" $((limit - SECONDS - 15)) eager graph folded jax ;;
    compile:*) stage "$name" speed "$precision" $((limit - SECONDS - 15)) graph compile ;;
    freeze:*) stage "$name" speed "$precision" $((limit - SECONDS - 15)) graph freeze ;;
    *) say "unknown stage $name"; failed=1 ;;
  esac
done
