// A plan: everything that is decided before memory is touched.
#ifndef ASHLAR_RUNTIME_PLAN_PLANNED_GRAPH_H_
#define ASHLAR_RUNTIME_PLAN_PLANNED_GRAPH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "memory/planner.h"
#include "runtime/device/device.h"
#include "runtime/device/kernel.h"
#include "runtime/plan/means.h"
#include "runtime/plan/state_pool.h"
#include "runtime/plan/weights.h"
#include "runtime/plan/wishes.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

struct PassReport {
  std::string name;
  int operators_before = 0, operators_after = 0;          // scheduled ones, without constants
  int64_t arena_bytes_before = 0, arena_bytes_after = 0;  // lower bounds, without workspaces
};

// Where the bytes of a tensor or of a workspace lie.
struct Location {
  Pool pool = Pool::kArena;
  // kInput, kOutput: which of the caller's tensors; kState: which of StatePool::entries; kWeights:
  // which of WeightsPlan::entries where that lies in a file (WeightEntry::packed); else -1.
  int binding = -1;
  // In the arena, in the pool of weights, or in what `binding` names.
  int64_t offset = 0;
  int64_t bytes = 0;
};

// The plan that all sessions and reports of a model share.
struct PlannedGraph {
  Wishes wishes;  // with the tiles that were found for the budget
  Means means;
  Device* device = nullptr;
  Graph graph;
  StorageModel model;
  std::vector<std::shared_ptr<const Kernel>> kernels;  // by node; null where nothing runs
  std::vector<int64_t> workspace;                      // bytes by node
  // Nodes whose fastest kernel was passed over: its workspace would not fit under the peak.
  std::vector<int> spared;
  Schedule schedule;
  Lifetimes lifetimes;
  memory::PlanResult plan;
  WeightsPlan weights;
  StatePool state;
  std::vector<PassReport> passes;
  // FLOPs of operators with weights (Graph::HasWeights: all that compute with a constant which they
  // read on the device) that the tiles compute more than once, over all FLOPs of such operators in
  // the graph before it was tiled.
  double extra_flops_ratio = 0;
  bool tiles_on_record = false;  // measured to be faster (recorded_tiles.h), not asked for
  int64_t smallest_budget = 0;   // that would do, where it was searched for; bytes
  // For tiles, whatever was found: of how many rewritings. That takes memory (MemoryNeed).
  int searched = 0;
  double predicted_ms = 0;  // of a run, by arithmetic and traffic (EstimateTime)
  double plan_ms = 0;       // that planning took

  // The processor that the kernels are for.
  Processor processor() const { return wishes.processor.value_or(device->processor()); }
  // Why this can only be planned for: the device is not there, or its processor lacks the
  // instruction set.
  absl::Status ready() const;

  // How many of the plan's kernels were chosen by `means.record`.
  RecordUse record_use() const;

  // Nothing where a var has no bytes or is never on the device. A constant lies in the pool of
  // weights once for each layout that kernels want: this is the first.
  std::optional<Location> Locate(int var) const;
  // An input as its reader finds it: a constant in the layout that the reader's kernel wants.
  // Nothing where it is not read on the device.
  std::optional<Location> LocateInput(int node, int input) const;
  // An output as the node's kernel has to write it, which of an update is the state; nothing where
  // it is a view, which is there already.
  std::optional<Location> LocateOutput(int node, int output) const;
  // Nothing where the node's kernel needs none.
  std::optional<Location> LocateWorkspace(int node) const;

  // Whether an input of the graph (index into Graph::inputs()) lies in the arena: the caller gives
  // it up.
  bool is_released(int input) const;
  // Sum over the caller's tensors, bytes; inputs that are released are not among them.
  int64_t input_bytes() const;
  int64_t released_bytes() const;  // sum over inputs in the arena, before the first step
  int64_t output_bytes() const;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_PLANNED_GRAPH_H_
