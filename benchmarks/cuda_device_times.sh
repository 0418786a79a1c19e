# Stages of cuda_device_run.sh that time a device, and list what cuDNN offers. Uses the settings and
# functions of cuda_device_run.sh.
# shellcheck shell=bash disable=SC2154

# Lists engines and their notes on the device. The headers come with cuDNN's package.
engines() {
  local headers noted
  headers=$(tr ':' '\n' <<<"$cuda" | sed 's/lib$/include/' | while read -r each; do
    if [ -f "$each/cudnn_graph.h" ]; then echo "$each"; fi
  done | head -n 1)
  LD_LIBRARY_PATH=$libraries timeout --foreground -k 5 100 python3 "$here/cudnn_engines.py" --device --headers "${headers:-/usr/local/cuda/include}" \
    --only NCHW --batch 1 --json "$details/engines.json" || return 1
  noted=$(python3 -c 'import json, sys; print(sorted({(one["engine"], " ".join(note for note in one["notes"] if note != "TENSOR_CORE")) for row in json.load(open(sys.argv[1]))
  if isinstance(row["engines"], list) for one in row["engines"] if one["engine"] in (6, 14) or any(w in note for note in one["notes"] for w in ("WINO", "FFT"))}))' "$details/engines.json")
  say "  engines 6, 14 and those that transform: $noted"
}

# Runs torch.compile for a precision and a batch, and ends.
compile_one() {
  local begun=$SECONDS
  timeout --foreground -k 5 200 python3 "$here/peers/pytorch.py" inductor "$2" "$1" < <(echo) | cut -c 1-200
  echo "torch.compile, $1, batch $2: $((SECONDS - begun)) s"
}
compile_cache() {
  local precision batch
  mkdir -p "$TORCHINDUCTOR_CACHE_DIR"
  JOBS=3 side_by_side compile_one < <(for precision in ${PRECISIONS:-fp16 tf32 fp32}; do
    for batch in ${BATCHES:-1 10 64}; do echo "$precision $batch"; done
  done)
  # Choices by time, made while other programs ran, are made anew.
  find "$TORCHINDUCTOR_CACHE_DIR" -name '*.best_config' -delete
}

# One run at a time, then with overlapping copies of two runs, then with overlapping kernels too.
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
      output=$(export ASHLAR_KERNELS="$details/kernels-scratch-$extra.json"
        ashlar tune "${options[@]}" --seconds 20 2>&1 && ashlar bench "${options[@]}" --duration 2s 2>&1) || status=1
      echo "$output"
      say "  batch $batch --extra-scratch $extra:" \
        "$(grep -E '^(median|p90|images/s|arena)|error' <<<"$output" | tr -s ' ' | paste -sd ';')"
    done
  done
  return $status
}

# A model quantised with arbitrary ranges for images is as fast as one calibrated on images.
int8() {
  local batch record status=0 model output
  export ASHLAR_KERNELS="$details/kernels-int8.json"
  python3 -c 'import sys, numpy; numpy.savez(sys.argv[1], data=numpy.random.default_rng(1).normal(size=(64, 3, 224, 224)).astype("f"))' \
    "$work/images.npz" || return 1
  for batch in 1 64; do
    resnet50_of "$batch" || return 1
    ashlar quantize "$model" --calibrate "$work/images.npz" -o "$work/int8-$batch.ash" --quiet || return 1
    local options=("$work/int8-$batch.ash" --device gpu0:0 --extra-scratch 256MB --quiet)
    ashlar tune "${options[@]}" --seconds 20 --json >"$details/int8-$batch.json" || status=1
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
  # shellcheck disable=SC2086
  python3 "$here/versus_gpu_frameworks.py" --build "$pack" --libraries "$libraries" --folder "$work" --commit "$commit" \
    --precision "$precision" ${BATCHES:+--batch $BATCHES} --tune --tune-seconds "${TUNE:-15}" --rounds "${ROUNDS:-10}" --json "$out/speed.jsonl" \
    --details "$details" --limit "$left" ${ROW_SECONDS:+--row-seconds "$ROW_SECONDS"} --peers "$@"
  local status=$?
  [ $status = 0 ] || say "$(tac "$out/log.txt" | sed '/^#### /q' | tac | grep -aE '^(batch |[a-z]+: )' | tail -n 8 | cut -c 1-400)"
  return $status
}
