# Stages of cuda_device_run.sh that check a device: the machine, tests, outputs and memory of models,
# compute-sanitizer, training. Uses the settings and functions of cuda_device_run.sh.
# shellcheck shell=bash disable=SC2154

# Prints the device as cuDNN describes it, in the format of runtime/cuda/toolkit/library_device.cc.
# Numbers stand for the attributes and types of cudnn_graph.h.
device_properties() {
  LD_LIBRARY_PATH=$libraries timeout --foreground -k 5 60 python3 - <<'P'
import ctypes
cudnn, one, size = ctypes.CDLL("libcudnn.so.9"), ctypes.c_void_p(), ctypes.c_int64()
def check(status):
    assert status == 0, f"cuDNN: status {status}"
check(cudnn.cudnnBackendCreateDescriptor(38, ctypes.byref(one)))
check(cudnn.cudnnBackendSetAttribute(one, 2700, 23, ctypes.c_int64(1), ctypes.byref(ctypes.c_int32(0))))
check(cudnn.cudnnBackendFinalize(one))
check(cudnn.cudnnBackendGetAttribute(one, 2702, 24, ctypes.c_int64(0), ctypes.byref(size), None))
text = ctypes.create_string_buffer(size.value + 1)
check(cudnn.cudnnBackendGetAttribute(one, 2702, 24, size, ctypes.byref(size), text))
print(text.value.decode())
P
}

# Prints where a driver could be, if none was found.
driver_facts() {
  say "  LD_LIBRARY_PATH: ${LD_LIBRARY_PATH:-not set}; $(ls -d /dev/nvidia* 2>/dev/null | paste -sd ' ')"
  say "  libcuda.so.1: $({ ldconfig -p | grep -F libcuda.so.1
    timeout 20 find /usr /lib /opt /run -name 'libcuda.so*'; } 2>/dev/null | paste -sd ' ')"
}

doctor() {
  local state output
  export SECONDS_EACH=60
  output=$(ashlar doctor 2>&1) || say "  doctor: $(tail -n 3 <<<"$output")"
  echo "$output"
  ashlar doctor --json --quiet >"$out/doctor.json" || { driver_facts; return 1; }
  state=$(python3 -c 'import json, sys; f = json.load(open(sys.argv[1]))["facts"]
print(f["gpu0:0"]); print(*(f"{k}: {v}" for k, v in f.items() if "CUDA" in k or k == "device memory"), sep="; ")' \
    "$out/doctor.json") || return 1
  say "gpu0:0: $state"
  [ "${state%%$'\n'*}" = ready ] || { driver_facts; return 1; }
  device_properties >"$out/deviceprop.json" || { rm "$out/deviceprop.json"; say "  cuDNN does not describe the device"; }
}

# Prints the tests of a program, each after the program's name.
tests_of() {
  local suite="" name
  while read -r name; do
    case "$name" in
      *.) suite=$name ;;
      '' | *' '*) ;;
      *) echo "$1 $suite$name" ;;
    esac
  done < <(device_test "$1" --gtest_list_tests | sed 's/^ *//; s/ *#.*//')
}

# Runs a test in a process of its own. Long output is cut after its beginning.
one_test() {
  local program=$1 name=$2 output code begun=$SECONDS
  output=$(device_test "$program" --gtest_filter="$name" 2>&1 </dev/null | head -c 100000; exit "${PIPESTATUS[0]}")
  code=$?
  case $code:$output in
    0:*'[  SKIPPED ]'*)
      # A device that does not answer fails these tests, because nothing was tested.
      case "$name" in
        CudaDevice.*) code=1; say "  $name: FAILED: skipped" ;;
        *) say "  $name: does not apply" ;;
      esac ;;
    0:*) say "  $name: ok ($((SECONDS - begun)) s)" ;;
    124:* | 137:*) say "  $name: FAILED: out of time after $((SECONDS - begun)) s" ;;
    # The trace that ends in "by KERNEL, threads 1" names the case.
    *) say "  $name: FAILED ($code)"$'\n'"$(grep -E -m 8 'Failure|[Ee]rror|[Aa]ctual|Which|seed|accessed|: .* by [^ ]+, threads' \
         <<<"$output" | cut -c 1-400)" ;;
  esac
  printf '%s\n' "$output"
  return $((code != 0))
}

# Prints all tests, the longest first.
tests_by_length() {
  local program
  for program in runtime_cuda_device_test tools_gpu_test; do tests_of $program; done |
    awk '{print /AllCandidates|Tf32|ConvBias|ModelsOf|\/Elemwise$|\/MatrixMul$/ ? 0 : 1, $0}' | sort -s -n -k 1,1 | cut -d ' ' -f 2-
}

# Runs the tests of free memory alone, then the rest.
tests() {
  local status=0 all some program part=${1:-memory rest}
  export SECONDS_EACH=${SECONDS_EACH:-240}
  all=$(tests_by_length | grep -vE "${SKIP_TESTS:-^$}" | grep -E "${ONLY_TESTS:-.}")
  for program in runtime_cuda_device_test tools_gpu_test; do
    some=$(grep -c "^$program " <<<"$all")
    [ "$some" != 0 ] || [ -n "${ONLY_TESTS:-}" ] || { say "  $program: FAILED: it lists no tests"; status=1; }
  done
  [[ $part != *memory* ]] || JOBS=1 side_by_side one_test < <(grep Memory <<<"$all") || status=1
  [[ $part != *rest* ]] || side_by_side one_test < <(grep -v Memory <<<"$all") || status=1
  return $status
}

# Runs a check, appends its name and result to `line`, and stores its output in `output`.
check() {
  local what=$1 code begun=$SECONDS
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
  local failures=0 name line model reference begun options output
  for name in squeezenet resnet18 mobilenet_v2 inception_v1 resnet50 vgg19; do
    begun=$SECONDS line="" model=$work/$name.ash reference=$work/$name.npz
    [ -f "$model" ] || ashlar zoo "$name" --batch 1 -o "$model" --quiet || { failures=1; continue; }
    # The CPU's kernels, which the build machine tests against the reference.
    ashlar run "$model" --output "$reference" --exact --top 0 --quiet || { failures=1; continue; }
    options=("$model" --device gpu0:0)
    # With sums in double precision, SqueezeNet, MobileNet and Inception differ by up to 4.3e-2
    # (TF32), 5.2e-2 (fp16) and 2.6e-1 (bf16) of the largest output.
    check fp32 compare "${options[@]}" --ref "$reference" --rtol 1e-3
    check tf32 compare "${options[@]}" --ref "$reference" --allow-tf32 --rtol 1e-1
    check fp16 compare "${options[@]}" --ref "$reference" --precision fp16 --rtol 1e-1
    check bf16 compare "${options[@]}" --ref "$reference" --precision bf16 --rtol 4e-1
    # Only the memory: values are compared above.
    check verify verify "${options[@]}" --no-values
    check verify-fp16 verify "${options[@]}" --no-values --precision fp16
    check least-budget verify "${options[@]}" --no-values --memory-budget min
    check profile profile "${options[@]}" --by op --warmup 10
    say "  $name:$line ($((SECONDS - begun)) s)"
  done
  [ $failures = 0 ]
}

# Compares with the CPU, and prints the largest difference over the largest output.
compared() {
  local name=$1
  check "$name" compare "${@:2}"
  line="$line ($(awk '$NF == "ok" || $NF == "DIFFERS" {print $(NF - 2)}' <<<"$output" | tail -n 1))"
}

# Checks the first facts about a device: correct outputs, memory as planned, times without tuning.
smoke() {
  local failures=0 line="" model=$work/smoke.ash reference=$work/smoke.npz options batch precision output
  # shellcheck disable=SC2086
  ashlar zoo ${SMOKE_MODEL:-resnet50 --batch 10} -o "$model" --quiet || return 1
  ashlar run "$model" --output "$reference" --exact --top 0 --quiet || return 1
  options=("$model" --device gpu0:0 --no-autotune)
  compared fp32 "${options[@]}" --ref "$reference" --rtol 1e-3
  compared tf32 "${options[@]}" --ref "$reference" --allow-tf32 --rtol 1e-1
  compared fp16 "${options[@]}" --ref "$reference" --precision fp16 --rtol 1e-1
  compared bf16 "${options[@]}" --ref "$reference" --precision bf16 --rtol 4e-1
  # Only the memory: values are compared above, by tolerances for sums in 16 bits.
  check verify-fp32 verify "${options[@]}" --no-values
  check verify-fp16 verify "${options[@]}" --no-values --precision fp16
  say "  ${SMOKE_MODEL:-resnet50 --batch 10}:$line"
  # Compares the layers of a small model with the reference in double precision, to locate a wrong
  # output.
  if [ $failures -gt 0 ]; then
    ashlar zoo resnet18 --image 64 -o "$work/resnet18.ash" --quiet
    for precision in fp32 fp16; do
      output=$(ashlar compare "$work/resnet18.ash" --device gpu0:0 --no-autotune --precision $precision --ref host --layers all \
        --rtol 1e-1 --quiet 2>&1) || true
      echo "$output"
      say "    resnet18 by layer, $precision: $(grep -c ' ok *$' <<<"$output") are right; $(grep -vE ' ok *$' <<<"$output" | head -c 1500)"
    done
  fi
  for precision in "--precision fp16" "--allow-tf32" ""; do
    for batch in ${BATCHES:-1 10 64}; do
      resnet50_of "$batch" || return 1
      # shellcheck disable=SC2086
      output=$(ashlar bench "$model" --device gpu0:0 --no-autotune $precision --duration 500ms --quiet 2>&1) || failures=$((failures + 1))
      echo "$output"
      say "  untuned, batch $batch ${precision:---precision fp32}:" \
        "$(grep -E '^(median|p90|images/s|arena)|error' <<<"$output" | tr -s ' ' | paste -sd ';')"
    done
  done
  [ $failures = 0 ]
}

# Prints the path of compute-sanitizer: on the PATH, or in the toolkit.
sanitizer() {
  local place
  for place in "$(command -v compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer \
    /usr/local/cuda*/compute-sanitizer/compute-sanitizer /opt/cuda/bin/compute-sanitizer; do
    if [ -x "$place" ]; then echo "$place"; return; fi
  done
  return 1
}

# Runs a command and its children in their own process group, and ends them when their seconds, or
# the stage's, are over.
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

# Runs a tool of compute-sanitizer over a program. `found` counts its errors, `ours` the errors in
# our kernels or copies.
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

# Runs a tool of compute-sanitizer over our kernels of an operator.
sanitized_kernels() {
  local tool=$1 name=$2 record="$work/sanitizer-$1-${2//[^A-Za-z0-9]/_}.txt" begun=$SECONDS code summary
  local options=(--kernel-name kns=6ashlar --error-exitcode 9)
  # Failing calls are expected in libraries.
  [ "$tool" != memcheck ] || options+=(--report-api-errors no)
  # racecheck ends with the libraries' kernels in clusters, although they are not checked.
  ASHLAR_OWN_KERNELS=1 LD_LIBRARY_PATH=$libraries bounded "${SECONDS_EACH:-150}" "$tools" --tool "$tool" --print-limit 200 \
    "${options[@]}" "$pack/runtime_cuda_device_test" --gtest_filter="$name" >"$record" 2>&1
  code=$?
  summary=$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$record" | tail -n 1)
  if [ $code = 0 ] && [ -n "$summary" ]; then
    echo "$tool, $name: $summary ($((SECONDS - begun)) s)"
    return 0
  fi
  head -c 20000 "$record"
  case $code in 124 | 137) summary="no answer in time" ;; esac
  say "  $tool, $name: FAILED ($code): ${summary:-no summary} ($((SECONDS - begun)) s)"
  grep -E -m 4 '^=+ +(Invalid|Error|Warning|Race|Barrier|.* at .*ashlar)|Failure' "$record" | cut -c 1-300 >&3
  return 1
}

# All tools over all operators, the longest first.
sanitize_kernels() {
  local tool tools status=0 begun=$SECONDS all
  tools=$(sanitizer) || { say "  compute-sanitizer is neither on the PATH nor in the toolkit's folder"; return 1; }
  all=$(tests_by_length | awk '/^runtime_cuda_device_test .*ComputeWhatTheirOperatorMeans/ {print $2}')
  [ -n "$all" ] || { say "  no operators"; return 1; }
  side_by_side sanitized_kernels < <(for tool in racecheck synccheck memcheck; do sed "s/^/$tool /" <<<"$all"; done) || status=1
  say "  $(wc -l <<<"$all") operators by three tools in $((SECONDS - begun)) s"
  return $status
}

sanitize() {
  local status=0 found ours small=$work/small.ash tool tools
  tools=$(sanitizer) || { say "  compute-sanitizer is neither on the PATH nor in the toolkit's folder"; return 1; }
  "$tools" --version | tail -n 1
  ashlar zoo squeezenet --image 64 -o "$small" --quiet || return 1
  if [ "${1:-}" = one ]; then
    SECONDS_EACH=60 sanitized "a model in fp16" memcheck --report-api-errors no --error-exitcode 9 \
      "$pack/ashlar" run "$small" --device gpu0:0 --iterations 3 --no-autotune --precision fp16 || status=1
    # The kernels with shared memory and barriers.
    for tool in racecheck memcheck; do
      SECONDS_EACH=40 sanitized "some kernels" $tool --kernel-name kns=6ashlar --error-exitcode 9 "$pack/runtime_cuda_device_test" \
        --gtest_filter='*/PoolingForward:*/Softmax:*/RelayoutFormat:*/AdamUpdate' || status=1
    done
    return $status
  fi
  # Only our kernels, by the namespace in their mangled names: kernels of libraries take long, and
  # are not ours. Failing calls are expected in libraries and in a test.
  for tool in memcheck racecheck synccheck; do
    local options=(--kernel-name kns=6ashlar --error-exitcode 9)
    [ $tool != memcheck ] || options+=(--report-api-errors no)
    sanitized "kernels by themselves" $tool "${options[@]}" "$pack/runtime_cuda_device_test" \
      --gtest_filter='*.ComputeWhatTheirOperatorMeans/*' || status=1
    [ "${found:-x}" = 0 ] || status=1
  done
  # Whole runs, including kernels of libraries, which read and write our memory. A read of
  # uninitialised memory is our fault only if our kernel reads.
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

# Trains for three epochs of four steps on the CPU, on the CPU without vector instructions, and on
# the device. Rounding drives losses apart, faster with every step and in some models faster than in
# others: in the first epoch the device's may be as far from the CPU's as ten times the distance
# between the CPU's two instruction sets, and 1e-4.
train() {
  local failures=0 line output name options isa device model images=$work/train.npz code
  python3 -c 'import sys, numpy; r = numpy.random.default_rng(3)
numpy.savez(sys.argv[1], images=r.normal(size=(32, 3, 64, 64)).astype("f"), labels=r.integers(0, 1000, 32))' "$images" || return 1
  for name in resnet18 mobilenet_v2 squeezenet inception_v1; do
    model=$work/train-$name.ash line=""
    ashlar zoo $name --image 64 --batch 8 -o "$model" --quiet || return 1
    for options in "--momentum 0.9 --lr 1e-6" "--optimizer adam --lr 1e-6" "--batch 8 --micro-batch 2 --batch-norm frozen --lr 1e-6"; do
      for isa in baseline cpu gpu; do
        device=cpu0:0
        [ $isa != gpu ] || device=gpu0:0
        rm -f "$work/train-$isa.csv"
        # shellcheck disable=SC2086
        ASHLAR_MAX_ISA=${isa/[cg]pu/} check "train on $isa" train "$model" --data "$images" --epochs 3 $options --device $device \
          --log "$work/train-$isa.csv" -o "$work/trained.ash" >/dev/null
      done
      output=$(python3 - "$work"/train-{cpu,baseline,gpu}.csv <<'P'
import csv, sys
cpu, baseline, gpu = ([float(row["loss"]) for row in csv.DictReader(open(path))] for path in sys.argv[1:])
far, control = ([abs(a - b) / abs(a) for a, b in zip(cpu, other)] for other in (gpu, baseline))
print(f"loss {cpu[0]:.5f} to {cpu[-1]:.5f}, on the device {gpu[0]:.5f} to {gpu[-1]:.5f}; apart by steps",
      " ".join(f"{a:.0e} ({b:.0e})" for a, b in list(zip(far, control))[:5]))
sys.exit(len(gpu) != 12 or not all(a < 1e-4 + 10 * b for a, b in zip(far[:4], control)))
P
      )
      code=$?
      [ $code = 0 ] || failures=$((failures + 1))
      say "  $name $options: ${output:-nothing to compare}$([ $code = 0 ] || echo ": FAILED")"
    done
    line=""
    check verify verify "$model" --device gpu0:0 --train --no-values
    check recompute verify "$model" --device gpu0:0 --train --no-values --recompute cheap
    say "  $name, memory of a step:$line"
  done
  [ $failures = 0 ]
}
