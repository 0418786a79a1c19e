// Everything that is decided before memory is touched: rewritten graph, kernels, order, addresses.
#ifndef ASHLAR_RUNTIME_PLAN_PLANNED_GRAPH_H_
#define ASHLAR_RUNTIME_PLAN_PLANNED_GRAPH_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "memory/planner.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"
#include "runtime/plan/kernel_record.h"
#include "runtime/plan/weights.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

// Where the sizes of workspaces come from.
enum class WorkspaceSource {
  kKernel,    // the kernels that were chosen
  kRecorded,  // the program that the graph came from (GraphBuilder::NodeOptions); only for planning
};

// A limit to the arena, for which a graph is executed in parts where it must be.
struct MemoryBudget {
  int64_t bytes = 0;  // 0: as few as can be
  // Of the FLOPs of operators with weights: what may be computed again, as a ratio.
  double max_extra_flops = std::numeric_limits<double>::infinity();
  // Find the smallest budget that would do, too, and where nothing fits, return that plan.
  bool find_smallest = false;
};

struct PlanningOptions {
  CompNode comp_node;
  // What the kernels are for, and with it what the plan depends on: equal options give equal plans
  // on every machine, but for operators that only oneDNN computes (MatrixMul of two computed
  // matrices). nullopt: the device's own, of which libraries may know more.
  std::optional<Processor> processor;
  int threads = 1;
  DType precision = DType::kFloat32;  // Float16 or BFloat16: where PrecisionRule allows
  std::string passes = "all";         // SelectPasses
  std::string scheduler = "memory";   // ScheduleByName
  memory::PlanOptions planner;
  WorkspaceSource workspace = WorkspaceSource::kKernel;
  KernelPolicy kernels;
  std::shared_ptr<const KernelRecord> record;  // what Autotune found out; may be null
  // By node of the rewritten graph, the kernel to take (KeepKernels); empty: chosen.
  std::vector<std::string> kept_kernels;
  // Bytes by which the scratch of faster kernels may raise the arena.
  int64_t extra_scratch = 0;
  bool inplace = true;      // readonly and writable forwards, placements
  int64_t alignment = 0;    // bytes; 0: the device's
  int64_t guard_bytes = 0;  // unused bytes behind each chunk, for CheckGuards
  // Claims that the topmost chunk is so many bytes smaller than it is: the negative control of what
  // compares the plan with a run. The arena must then be mapped larger than planned.
  int64_t understate_bytes = 0;
  // Told of each constant whose data was read for the last time: a pass has replaced it, or it is
  // packed. What is read from a file can leave memory then.
  std::function<void(const HostTensor&)> done_with;
  bool measure_passes = false;         // fill in the arena bytes of PassReport
  TileSpec tiles;                      // what is executed in parts
  std::optional<MemoryBudget> budget;  // finds `tiles`
};

struct PassReport {
  std::string name;
  int operators_before = 0, operators_after = 0;          // scheduled ones, without constants
  int64_t arena_bytes_before = 0, arena_bytes_after = 0;  // lower bounds, without workspaces
};

// What all sessions and reports of a model share.
struct PlannedGraph {
  PlanningOptions options;  // with the tiles that were found for the budget
  Device* device = nullptr;
  Graph graph;
  StorageModel model;
  std::vector<std::shared_ptr<const Kernel>> kernels;  // by node; null where nothing runs
  std::vector<int64_t> workspace;                      // bytes by node
  // Nodes whose fastest kernel was passed over: its scratch would not fit under the peak.
  std::vector<int> spared;
  Schedule schedule;
  Lifetimes lifetimes;
  memory::PlanResult plan;
  WeightsPlan weights;
  std::vector<PassReport> passes;
  // FLOPs of convolutions and matrix products that the tiles compute more than once, over all of
  // those of the graph before it was tiled.
  double extra_flops_ratio = 0;
  int64_t smallest_budget = 0;  // MemoryBudget::find_smallest: bytes
  double plan_ms = 0;           // all of the above

  // What the kernels are for.
  Processor processor() const { return options.processor.value_or(device->processor()); }
  // Why this can only be planned for: the device is not there, or its processor lacks the
  // instruction set.
  absl::Status ready() const;
  // Offset of a workspace or of a var's storage in the arena, bytes; -1 if it is not there.
  int64_t WorkspaceOffset(int node) const;
  int64_t ArenaOffset(int var) const;
  // Sum over the caller's tensors, bytes.
  int64_t input_bytes() const;
  int64_t output_bytes() const;
};

// ResourceExhausted, naming the smallest budget that would do, where a budget cannot be met; and
// naming what is needed and what is there where the device's memory is too small for a session.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanGraph(Graph graph,
                                                        const PlanningOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PLANNED_GRAPH_H_
