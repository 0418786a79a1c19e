// Listeners of runs.
#ifndef ASHLAR_RUNTIME_SESSION_RUN_LISTENER_H_
#define ASHLAR_RUNTIME_SESSION_RUN_LISTENER_H_

#include "absl/types/span.h"

namespace ashlar {

// A time span, in seconds from an origin that all steps of a run share.
struct StepTime {
  double start = 0;
  double end = 0;
};

// A listener that is called for each step of a run. `step` is a position in the schedule's order.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void OnRunBegin() {}
  virtual void OnStepBegin(int /*step*/) {}
  virtual void OnStepEnd(int /*step*/) {}
  virtual void OnRunEnd() {}
  // Called after the run on devices with streams: the times at which each step's work was done, on
  // the device's clock.
  virtual void OnDeviceTimes(absl::Span<const StepTime> /*steps*/) {}
  // Returns whether it reads memory: then each step's work is complete before OnStepEnd.
  virtual bool reads_memory() const { return false; }
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_RUN_LISTENER_H_
