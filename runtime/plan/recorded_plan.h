// The decisions of planning, in values that can be kept: enough to make the same plan again without
// a search (plan_as_recorded.h).
#ifndef ASHLAR_RUNTIME_PLAN_RECORDED_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_RECORDED_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "memory/buffer.h"
#include "runtime/plan/checks.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

// One node of comp_seq.
struct RecordedStep {
  int id = 0;  // OperatorNode::id, in the rewritten graph
  std::string name, type;
  std::string kernel;  // Kernel::implementation; empty where nothing runs
  int64_t workspace_bytes = 0;

  friend bool operator==(const RecordedStep&, const RecordedStep&) = default;
};

enum class ChunkKind {
  kTensor,
  kWorkspace,
  kCopy,  // made by an operator that a rewrite added to move data
};
absl::string_view Name(ChunkKind kind);  // "tensor", "workspace", "copy"

// One buffer of the plan's problem, and where it lies.
struct RecordedChunk {
  memory::Buffer buffer;  // with its offset in the arena
  std::string name;
  ChunkKind kind = ChunkKind::kTensor;
  int inside = -1;  // index of the chunk that it lies inside of, or -1
  int64_t at = 0;   // bytes: where in that
};

struct RecordedPlan {
  std::string path;  // of the file that it comes from, for messages; may be empty

  // The request: everything but the budget, which found the tiles, the record of kernels,
  // and the limits of searches.
  Wishes wishes;
  Means means;
  Processor processor;    // PlannedGraph::processor
  int64_t alignment = 0;  // Checks: bytes; 0: the device's
  // Whether the passes were told that the graph will be tiled: some devices lay images otherwise
  // then, and a budget may find that no tiles are needed.
  bool rewritten_for_tiles = false;
  // Of the graph before it was tiled, ids in the order that the tiles follow; empty without tiles.
  std::vector<int> order_before_tiles;
  RecordUse record;  // how many kernels were chosen by measurement

  std::vector<RecordedStep> steps;    // comp_seq
  std::vector<RecordedChunk> chunks;  // as in Lifetimes
  // Bytes.
  int64_t arena = 0, weights = 0, inputs = 0, outputs = 0;
  int64_t lower_bound = 0;
  int64_t proven_bound = 0;     // memory::Plan
  int64_t bottleneck_step = 0;  // memory::PlanResult
  std::string found_by;         // the planner that found the addresses
  double predicted_ms = 0, extra_flops_ratio = 0;

  // The chunks as buffers without prescribed offsets.
  memory::Problem problem() const;
  memory::Proof proof() const;
};

// The record of a plan of `model`, the graph as it was before any rewrite. `checks` are those that
// the plan was made under.
absl::StatusOr<RecordedPlan> RecordPlan(const Graph& model, const PlannedGraph& planned,
                                        const Checks& checks = {});

// For each buffer of the plan the name of the var, or of the workspace, that it was made for.
std::vector<std::string> NamesOfBuffers(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORDED_PLAN_H_
