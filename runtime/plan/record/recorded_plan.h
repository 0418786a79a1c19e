// The decisions of planning as plain values that can be stored: enough to reproduce the plan
// without a search (plan_as_recorded.h).
#ifndef ASHLAR_RUNTIME_PLAN_RECORD_RECORDED_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_RECORD_RECORDED_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "memory/problem/buffer.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// One node of comp_seq.
struct RecordedStep {
  int id = 0;  // OperatorNode::id, in the rewritten graph
  std::string name, type;
  std::string kernel;  // Kernel::implementation; empty if no kernel runs
  int64_t workspace_bytes = 0;

  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

enum class ChunkKind {
  kTensor,
  kWorkspace,
  kCopy,  // the output of an operator that a rewrite added to move data
};
absl::string_view Name(ChunkKind kind);  // "tensor", "workspace", "copy"

// A buffer of the plan's problem, with its address.
struct RecordedChunk {
  memory::Buffer buffer;  // with its offset in the arena
  std::string name;
  ChunkKind kind = ChunkKind::kTensor;
  int inside = -1;  // index of the containing chunk, or -1
  int64_t at = 0;   // bytes: offset in the containing chunk
};

struct RecordedPlan {
  std::string path;  // of the file it was read from, for messages; may be empty

  // The request, without the budget (the tiles found for it are stored), the kernel record, and the
  // limits of searches.
  PlanTarget target;
  PlanningOptions planning;
  Processor processor;    // PlannedGraph::processor
  int64_t alignment = 0;  // Checks: bytes; 0: the device's
  // Whether the passes were told that the graph will be tiled. Some devices then use another image
  // format; and a budget may turn out to need no tiles.
  bool rewritten_for_tiles = false;
  // For the graph before it was tiled: ids in the order that the tiles follow; empty without tiles.
  std::vector<int> order_before_tiles;
  RecordUse record;  // how many kernels were tuned

  std::vector<RecordedStep> steps;    // comp_seq
  std::vector<RecordedChunk> chunks;  // in the order of Lifetimes
  // Bytes.
  int64_t arena = 0, weights = 0, inputs = 0, outputs = 0;
  int64_t lower_bound = 0;
  int64_t proven_bound = 0;     // memory::Plan
  int64_t bottleneck_step = 0;  // memory::PlanResult
  std::string found_by;         // name of the planner that found the addresses
  double predicted_ms = 0, extra_flops_ratio = 0;

  // Returns the request of the same plan, which would search for it again.
  PlanRequest request() const { return {target, planning, {.alignment = alignment}}; }
  // Returns the chunks as buffers without prescribed offsets.
  memory::Problem problem() const;
  memory::Proof proof() const;
};

// Records a plan of `model`, the graph before any rewrite.
absl::StatusOr<RecordedPlan> RecordPlan(const Graph& model, const PlannedGraph& planned);

// Counts the plan's kernels that are tuned (PlanningOptions::record, or as the recorded plan
// counted them).
RecordUse CountRecordUse(const PlannedGraph& planned);

// Returns for each buffer of the plan the name of its var or workspace.
std::vector<std::string> NamesOfBuffers(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORD_RECORDED_PLAN_H_
