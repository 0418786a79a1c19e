// How long `tune` measures.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_OPTIONS_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_OPTIONS_H_

#include <algorithm>
#include <chrono>
#include <functional>

namespace ashlar {

struct TuneOptions {
  // Of trials, from when the first network is prepared; none is begun after that but the first of
  // another kernel than the expected, without which there is nothing to compare. The expected best
  // come first.
  double seconds = 5;
  // Pairs of runs, of the network as it is and with other kernels: on the host those of a trial,
  // and at most to confirm what trials found, on devices as well, of many repetitions each.
  int trial_pairs = 3;
  int confirming_pairs = 12;
  // On devices with clocks of their own, where kernels take microseconds: passes take turns, so
  // often, until time is out. Of the runs of a pass the first is not counted.
  int device_runs = 8;
  int device_rounds = 4;
  // Asked after each run; once it says true, what was timed until then decides. May be empty.
  std::function<bool()> stop = nullptr;

  bool stopped() const { return stop != nullptr && stop(); }
  // `seconds`, as a clock has them.
  std::chrono::steady_clock::duration duration() const {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(std::min(seconds, 1e6)));
  }
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_OPTIONS_H_
