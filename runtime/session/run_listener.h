// Listeners of runs.
#ifndef ASHLAR_RUNTIME_SESSION_RUN_LISTENER_H_
#define ASHLAR_RUNTIME_SESSION_RUN_LISTENER_H_

#include "absl/types/span.h"

namespace ashlar {

// Seconds from an origin that all steps of a run share.
struct StepTime {
  double start = 0;
  double end = 0;
};

// Hears of each step of a run. `step` is a position in the schedule's order.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void OnRunBegin() {}
  virtual void OnStepBegin(int /*step*/) {}
  virtual void OnStepEnd(int /*step*/) {}
  virtual void OnRunEnd() {}
  // After the run, from devices with streams: when each step's work was done, on the device's
  // clock.
  virtual void OnDeviceTimes(absl::Span<const StepTime> /*steps*/) {}
  // Whether it looks at memory: each step's work is then done before OnStepEnd.
  virtual bool reads_memory() const { return false; }
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_RUN_LISTENER_H_
