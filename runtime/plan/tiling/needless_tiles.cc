// Backward elimination. Before the graph is rewritten without a segment, each tensor of the segment
// has to fit untiled; before addresses are planned, the peak of live bytes of the rewritten graph.
#include "runtime/plan/tiling/needless_tiles.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/tiling/tile_segment.h"
#include "runtime/device/device.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/stages/stages.h"
#include "runtime/plan/tiling/tiled_plans.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

// Counts the segments at all depths.
size_t Count(const std::vector<TileSegment>& segments) {
  size_t count = segments.size();
  for (const TileSegment& segment : segments) count += Count(segment.inner);
  return count;
}

struct Removed {
  TileSegment segment;
  int64_t images = 1;      // into which segments around it split the batch
  bool in_images = false;  // whether it is inside tiles that divide images
};

// Removes segment `index`, with its inner segments; an outer segment is counted before its inner
// ones. Counts `index` down on the way. nullopt if it is not among these.
std::optional<Removed> Remove(std::vector<TileSegment>& segments, size_t& index) {
  for (size_t i = 0; i < segments.size(); ++i) {
    if (index == 0) {
      Removed removed{std::move(segments[i])};
      segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(i));
      return removed;
    }
    --index;
    if (std::optional<Removed> removed = Remove(segments[i].inner, index)) {
      if (segments[i].kind == TileKind::kBatch) {
        removed->images *= segments[i].count;
      } else {
        removed->in_images = true;
      }
      return removed;
    }
  }
  return std::nullopt;
}

class Elimination {
 public:
  Elimination(const RewrittenGraph& rewritten, const PlanRequest& request, const Schedule& order,
              const Device& device, int64_t bytes)
      : rewritten_(rewritten),
        request_(request),
        order_(order),
        device_(device),
        bytes_(bytes),
        untiled_(BuildStorageModel(rewritten.graph,
                                   StorageOn(device, request.target, request.planning))) {}

  // Returns the bytes of the largest tensor that an operator of a segment reads or makes untiled. 0
  // inside tiles of images, which need not compute all of an image.
  int64_t LeastBytes(const Removed& removed) const {
    const Graph& graph = rewritten_.graph;
    const auto found =
        FindSegments(graph, {&removed.segment, 1}, CompleteOrder(graph, order_.order));
    if (removed.in_images || !found.ok()) return 0;
    int64_t most = 0;
    for (const int index : found->segments[0].nodes) {
      const OperatorNode& node = graph.node(index);
      for (const std::vector<int>* vars : {&node.inputs, &node.outputs}) {
        for (const int var : *vars) {
          const int storage = untiled_.views[var].storage;
          if (storage < 0 || untiled_.storages[storage].pool != Pool::kArena) continue;
          most = std::max(most, graph.var(var).type.bytes());
        }
      }
    }
    return most / removed.images;
  }

  // Returns the plan in these tiles, or null if it does not fit or there are no such tiles.
  absl::StatusOr<std::unique_ptr<PlannedGraph>> Within(const TileSpec& spec) const {
    PlanRequest request = request_;
    request.target.tiles = spec;
    std::unique_ptr<PlannedGraph> planned;
    if (spec.empty()) {
      if (order_.bound_bytes > bytes_) return nullptr;
      ASHLAR_ASSIGN_OR_RETURN(planned, PlanRewritten({rewritten_.graph, rewritten_.passes}, request,
                                                     ArrangementOf(request.planning)));
    } else {
      absl::StatusOr<TiledGraph> tiled = TileRewritten(rewritten_, order_, spec);
      if (!tiled.ok()) return nullptr;
      const Graph& graph = tiled->rewritten.graph;
      const StorageModel model =
          BuildStorageModel(graph, StorageOn(device_, request.target, request.planning));
      const std::vector<int64_t> no_workspace(graph.nodes().size(), 0);
      if (ScheduleAsGiven(graph, model, no_workspace).peak_bytes > bytes_) return nullptr;
      ASHLAR_ASSIGN_OR_RETURN(planned,
                              PlanTiles(*std::move(tiled), spec, request, Thoroughness::kChosen));
    }
    if (planned->plan.plan.arena > bytes_) return nullptr;
    return planned;
  }

 private:
  const RewrittenGraph& rewritten_;
  const PlanRequest& request_;
  const Schedule& order_;
  const Device& device_;
  const int64_t bytes_;
  const StorageModel untiled_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PlannedGraph>> WithoutNeedlessTiles(
    const Graph& graph, std::unique_ptr<PlannedGraph> planned, int64_t bytes) {
  if (planned->tiles.empty() || planned->plan.plan.arena > bytes) return planned;
  PlanRequest request = planned->request;
  request.planning = planned->planning;
  ASHLAR_ASSIGN_OR_RETURN(
      const RewrittenGraph rewritten,
      RewriteGraph(Graph(graph), request.target, request.planning,
                   {.tiled = true, .measure_passes = request.debug.measure_passes}));
  ASHLAR_ASSIGN_OR_RETURN(const Schedule order,
                          OrderOf(rewritten.graph, request.target, request.planning));
  ASHLAR_ASSIGN_OR_RETURN(const Device* const device, OpenDevice(request.target.comp_node));
  const Elimination elimination(rewritten, request, order, *device, bytes);
  for (size_t left = Count(planned->tiles.segments); left > 0; --left) {
    TileSpec fewer = planned->tiles;
    size_t index = left - 1;
    const std::optional<Removed> removed = Remove(fewer.segments, index);
    if (!removed || elimination.LeastBytes(*removed) > bytes) continue;
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> without, elimination.Within(fewer));
    if (without == nullptr || without->predicted_ms > planned->predicted_ms) continue;
    planned = std::move(without);
  }
  return planned;
}

}  // namespace ashlar
