// A plan: all decisions that are made before memory is touched.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_PLANNED_GRAPH_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_PLANNED_GRAPH_H_

#include <algorithm>
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
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/state_pool.h"
#include "runtime/plan/stages/weights.h"
#include "runtime/schedule/lifetimes.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

struct PassReport {
  std::string name;
  int operators_before = 0, operators_after = 0;          // without constants
  int64_t arena_bytes_before = 0, arena_bytes_after = 0;  // lower bounds, without workspaces
};

// The address of a tensor or of a workspace.
struct Location {
  Pool pool = Pool::kArena;
  // kInput, kOutput: index of the caller's tensor; kState: index into StatePool::entries; kWeights:
  // index into WeightsPlan::entries if the entry lies in a file (WeightEntry::packed); otherwise
  // -1.
  int binding = -1;
  // In the arena, in the pool of weights, or in the tensor or entry that `binding` names.
  int64_t offset = 0;
  int64_t bytes = 0;
};

// The plan that all sessions and reports of a model share.
struct PlannedGraph {
  PlanRequest request;  // as asked
  TileSpec tiles;       // requested, tuned, or found for a budget; empty: untiled
  // The requested options, with the passes, kernels and weights that a search chose instead.
  PlanningOptions planning;
  Device* device = nullptr;
  Graph graph;
  StorageModel model;
  std::vector<std::shared_ptr<const Kernel>> kernels;  // by node; null if no kernel runs
  std::vector<int64_t> workspace;                      // bytes by node
  // Nodes without their fastest kernel, because its workspace would raise the peak.
  std::vector<int> spared;
  Schedule schedule;
  Lifetimes lifetimes;
  memory::PlanResult plan;
  WeightsPlan weights;
  StatePool state;
  std::vector<PassReport> passes;
  // Extra FLOPs as a ratio: FLOPs that tiles recompute, over the FLOPs of the untiled graph. Counts
  // only operators with weights (Graph::HasWeights: all that compute with a constant read on the
  // device).
  double extra_flops_ratio = 0;
  bool tiles_on_record = false;  // tuned (recorded_tiles.h), not requested
  int64_t smallest_budget = 0;   // bytes: the smallest budget that works, if it was searched for
  // Number of rewrites for which tiles were searched, successfully or not. The search takes memory
  // (MemoryNeed).
  int searched = 0;
  // If the plan has an arena budget: the plan without it (DebugOptions::keep_untiled).
  std::shared_ptr<const PlannedGraph> untiled;
  // Expected time of one run, from arithmetic and traffic (EstimateTime), and from reads of
  // streamed weights (WeightWindow::expected_ms).
  double predicted_ms = 0;
  double plan_ms = 0;  // duration of planning

  // Returns a request that gives the same plan without a search: with its tiles and options. A
  // budget is as in `request`.
  PlanRequest SettledRequest() const;
  // Returns the processor that the kernels are for.
  Processor processor() const { return request.target.ProcessorOn(*device); }
  // Returns why this plan cannot run here: the device is missing, or its processor lacks the
  // instruction set.
  absl::Status ready() const;

  // Returns the alignment of the arena's first byte, without which chunks are not aligned.
  int64_t arena_alignment() const {
    return std::max(device->arena_alignment(processor()), request.debug.alignment);
  }

  // Returns the location of a var; nothing if it has no bytes or is never on the device. A constant
  // lies in the pool of weights once for each layout that kernels use: returns the first.
  std::optional<Location> Locate(int var) const;
  // Returns the location of an input for its reader: a constant in the layout of the reader's
  // kernel. Nothing if it is not read on the device.
  std::optional<Location> LocateInput(int node, int input) const;
  // Returns the location to which the node's kernel writes an output; for an update, the state.
  // Nothing for a view, which needs no write.
  std::optional<Location> LocateOutput(int node, int output) const;
  // Nothing if the node's kernel needs no workspace.
  std::optional<Location> LocateWorkspace(int node) const;

  // Returns whether an input of the graph (index into Graph::inputs()) is donated: it lies in the
  // arena.
  bool is_released(int input) const;
  // Sum over the caller's tensors, bytes, without donated inputs.
  int64_t input_bytes() const;
  int64_t released_bytes() const;  // sum over donated inputs, in the arena before the first step
  int64_t output_bytes() const;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_PLANNED_GRAPH_H_
