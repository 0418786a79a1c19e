// Records when each step ran. It is a listener; the run loop does not depend on it.
#ifndef ASHLAR_RUNTIME_SESSION_PROFILER_H_
#define ASHLAR_RUNTIME_SESSION_PROFILER_H_

#include <chrono>
#include <vector>

#include "runtime/session/session.h"

namespace ashlar {

class Profiler final : public RunListener {
 public:
  explicit Profiler(int num_steps) : steps_(num_steps), start_(Clock::now()) {}
  void OnStepBegin(int step) override { steps_[step].start = Now(); }
  void OnStepEnd(int step) override { steps_[step].end = Now(); }
  void OnDeviceTimes(absl::Span<const StepTime> steps) override {
    device_steps_.assign(steps.begin(), steps.end());
  }
  // Times of the last run on the host's clock, by position in the order. On a device with streams:
  // the times at which work was enqueued.
  const std::vector<StepTime>& host_steps() const { return steps_; }
  // Times at which the work was done.
  const std::vector<StepTime>& steps() const {
    return device_steps_.empty() ? steps_ : device_steps_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double Now() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  std::vector<StepTime> steps_, device_steps_;
  const Clock::time_point start_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_PROFILER_H_
