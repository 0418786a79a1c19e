// The planning options: passes, order, planner, kernels.
#ifndef ASHLAR_RUNTIME_PLAN_REQUEST_PLANNING_OPTIONS_H_
#define ASHLAR_RUNTIME_PLAN_REQUEST_PLANNING_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "memory/planner.h"
#include "runtime/device/kernel.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/schedule/scheduler.h"

namespace ashlar {

// The source of workspace sizes.
enum class WorkspaceSource {
  kKernel,    // the chosen kernels
  kRecorded,  // the program that exported the graph (GraphBuilder::NodeOptions); only for planning
};

struct RecordedPlan;

// The progress of planning, for another thread that watches it.
struct PlanningProgress {
  std::atomic<int64_t> plans = 0;
  std::atomic<int64_t> least_arena = std::numeric_limits<int64_t>::max();  // bytes, the smallest of
                                                                           // these plans
};

// The planning options.
struct PlanningOptions {
  std::string passes = "all";  // SelectPasses
  Order order = Order::kLeastPeak;
  bool inplace = true;          // readonly and writable forwards, placements
  memory::PlanOptions planner;  // its limits.stop ends all planning
  KernelPolicy kernels;
  std::shared_ptr<const KernelRecord> record;  // from Autotune; may be null
  WorkspaceSource workspace = WorkspaceSource::kKernel;
  int64_t extra_workspace = 0;  // bytes by which workspaces of faster kernels may raise the peak
  // Limit on the bytes of weights, as far as the choice of kernels can meet it (LimitWeights).
  int64_t most_weights = std::numeric_limits<int64_t>::max();
  // Operators with larger weights compute in panels (stages/panels.h); 0: none does, unless
  // weights are streamed and the planner finds that their window needs it.
  int64_t panel_bytes = 0;
  // Convolutions in front of depthwise, grouped or narrowing ones compute in groups of channels
  // whose rows have at most so many bytes (stages/panels.h); 0: none does, unless the search for
  // the smallest arena finds that it needs less.
  int64_t group_bytes = 0;
  // Bytes a second at which weights are streamed; 0: as measured (KernelRecord::disk).
  int64_t weights_speed = 0;
  // A plan to reproduce without a search (plan_as_recorded.h). If set, it overrides all other
  // options here and the target. May be null.
  std::shared_ptr<const RecordedPlan> recorded;
  std::shared_ptr<PlanningProgress> progress;  // may be null
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REQUEST_PLANNING_OPTIONS_H_
