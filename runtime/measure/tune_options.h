// The effort of tuning.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_OPTIONS_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_OPTIONS_H_

#include <algorithm>
#include <chrono>
#include <functional>

namespace ashlar {

struct TuneOptions {
  // Time for trials, from the first prepared network on. No trial begins later, except the first of
  // a kernel other than the expected one, without which nothing can be compared. The kernels that
  // are expected to be best come first.
  double seconds = 5;
  // Pairs of runs, of the present network and of one with other kernels: for a trial on the host,
  // and the limit for confirming the results of trials. On devices, each run of a confirmation has
  // many repetitions.
  int trial_pairs = 3;
  int confirming_pairs = 12;
  // On devices with clocks of their own, on which kernels take microseconds: passes alternate for
  // `device_rounds`, until time is out. The first run of a pass is not counted.
  int device_runs = 8;
  int device_rounds = 4;
  // Called after each run. Once it returns true, the measurements so far decide. May be empty.
  std::function<bool()> stop = nullptr;

  bool stopped() const { return stop != nullptr && stop(); }
  // Returns `seconds` as a duration.
  std::chrono::steady_clock::duration duration() const {
    return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(std::min(seconds, 1e6)));
  }
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_OPTIONS_H_
