// Debug options of a plan: spacing of chunks, and parts of a plan that are measured or falsified.
#ifndef ASHLAR_RUNTIME_PLAN_REQUEST_DEBUG_OPTIONS_H_
#define ASHLAR_RUNTIME_PLAN_REQUEST_DEBUG_OPTIONS_H_

#include <cstdint>

namespace ashlar {

// The debug options of a plan.
struct DebugOptions {
  int64_t alignment = 0;    // of chunks, bytes; 0: the device's
  int64_t guard_bytes = 0;  // unused bytes after each chunk, for CheckGuards
  // Claims that the topmost chunk is this much smaller than it is: the negative control of the
  // comparison between plan and run. The arena must then be mapped larger than planned.
  int64_t understate_bytes = 0;
  bool measure_passes = false;  // fill in the arena bytes of PassReport
  bool keep_untiled = false;    // fill in PlannedGraph::untiled
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REQUEST_DEBUG_OPTIONS_H_
