#include "runtime/plan/tiling/tile_rewrites.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "graph/needed_bytes.h"
#include "graph/passes/pass.h"
#include "graph/region.h"
#include "graph/status.h"
#include "opr/table.h"
#include "runtime/plan/stages/panels.h"

namespace ashlar {
namespace {

constexpr absl::string_view kSum = "sum", kLayout = "layout";  // passes
// Groups of channels of the widest row (PlanningOptions::group_bytes).
constexpr int64_t kGroups = 4;

// Returns whether the pass kSum changed the graph.
bool HasSums(const RewrittenGraph& rewritten) {
  return std::any_of(rewritten.passes.begin(), rewritten.passes.end(), [](const PassReport& pass) {
    return pass.name == kSum && pass.operators_after < pass.operators_before;
  });
}

// Returns whether row-major images may take less memory: some block of channels is not full, or
// images are copied between row-major and blocks.
bool BlocksTakeMemory(const Graph& graph) {
  const auto is_padded = [](const Var& var) {
    return IsBlocked(var.type.format) && var.type.shape[1] % kChannelBlock != 0;
  };
  const auto is_copy = [&](const OperatorNode& node) {
    if (node.inputs.empty() || node.outputs.empty() || graph.HasWeights(node)) return false;
    const TensorType &from = graph.var(node.inputs[0]).type, &to = graph.var(node.outputs[0]).type;
    if (IsBlocked(from.format) == IsBlocked(to.format) || to.shape.rank() != 4) return false;
    return to.shape[2] * to.shape[3] > 1;  // others are views
  };
  return std::any_of(graph.vars().begin(), graph.vars().end(), is_padded) ||
         std::any_of(graph.nodes().begin(), graph.nodes().end(), is_copy);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TileRewrites>> TileRewrites::Create(const Graph& graph,
                                                                   const RewrittenGraph& rewritten,
                                                                   const PlanRequest& request) {
  std::unique_ptr<TileRewrites> made(new TileRewrites(graph, rewritten, request));
  ASHLAR_ASSIGN_OR_RETURN(made->plans_.emplace_back(), TiledPlans::Create(rewritten, request));
  return made;
}

absl::Status TileRewrites::AddOthers() {
  if (std::exchange(has_others_, true)) return absl::OkStatus();
  const auto add_without = [&](absl::string_view pass) -> absl::Status {
    PlanRequest& other = requests_.emplace_back(request_);
    ASHLAR_ASSIGN_OR_RETURN(other.planning.passes, PassesWithout(request_.planning.passes, pass));
    return absl::OkStatus();
  };
  if (HasSums(rewritten_)) ASHLAR_RETURN_IF_ERROR(add_without(kSum));
  if (BlocksTakeMemory(rewritten_.graph)) ASHLAR_RETURN_IF_ERROR(add_without(kLayout));
  const int64_t widest = WidestGroupRow(rewritten_.graph, Operators());
  if (widest > 0 && request_.planning.group_bytes == 0) {
    requests_.emplace_back(request_).planning.group_bytes = CeilDivide(widest, kGroups);
  }
  for (const PlanRequest& other : requests_) {
    ASHLAR_ASSIGN_OR_RETURN(graphs_.emplace_back(),
                            RewriteGraph(Graph(graph_), other.target, other.planning,
                                         {true, other.debug.measure_passes}));
  }
  for (size_t i = 0; i < requests_.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(plans_.emplace_back(),
                            TiledPlans::Create(graphs_[i], requests_[i], plans_[0].get()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> TileRewrites::Again(
    const VisitedPlan& visited) const {
  Tiling tiling;
  tiling.spec = visited.tiles;
  ASHLAR_ASSIGN_OR_RETURN(
      auto planned, plans_[visited.rewrite]->Plan(
                        {{&tiling, visited.low_workspace, visited.thorough, visited.multiple}}));
  if (planned[0] == nullptr) return absl::InternalError("tiles were found once, and not again");
  return std::move(planned[0]);
}

}  // namespace ashlar
