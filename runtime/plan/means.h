// The means by which a plan is made: passes, order, planner, kernels.
#ifndef ASHLAR_RUNTIME_PLAN_MEANS_H_
#define ASHLAR_RUNTIME_PLAN_MEANS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "memory/planner.h"
#include "runtime/device/kernel.h"
#include "runtime/plan/kernel_record.h"
#include "runtime/schedule/scheduler.h"

namespace ashlar {

// Where the sizes of workspaces come from.
enum class WorkspaceSource {
  kKernel,    // the kernels that were chosen
  kRecorded,  // the program that the graph came from (GraphBuilder::NodeOptions); only for planning
};

struct RecordedPlan;

// What planning has done so far, for another thread that watches it.
struct PlanningProgress {
  std::atomic<int64_t> plans = 0;
  std::atomic<int64_t> least_arena = std::numeric_limits<int64_t>::max();  // bytes, of these plans
};

struct Means {
  std::string passes = "all";  // SelectPasses
  Order order = Order::kLeastPeak;
  bool inplace = true;          // readonly and writable forwards, placements
  memory::PlanOptions planner;  // its limits.stop ends all of planning
  KernelPolicy kernels;
  std::shared_ptr<const KernelRecord> record;  // of Autotune; may be null
  WorkspaceSource workspace = WorkspaceSource::kKernel;
  int64_t extra_workspace = 0;  // bytes by which workspaces of faster kernels may raise the arena
  // Bytes of weights, as far as kernels can be chosen for it (LimitWeights).
  int64_t most_weights = std::numeric_limits<int64_t>::max();
  // A plan made before, which is made again without a search (plan_as_recorded.h): all else here,
  // and the wishes, are then those of that plan. May be null.
  std::shared_ptr<const RecordedPlan> recorded;
  std::shared_ptr<PlanningProgress> progress;  // may be null
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_MEANS_H_
