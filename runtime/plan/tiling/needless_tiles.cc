// Backward elimination. Before the graph without a segment is rewritten, the bytes that one
// operator of the segment reads or makes untiled have to fit; before addresses are planned, its
// peak of live bytes.
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
  int64_t parts = 1;  // tiles of the segments around it
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
      removed->parts *= segments[i].count * segments[i].count_width;
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

  // Returns a lower bound of the bytes that the operators of a segment need untiled, each alone:
  // all that it reads, or all that it makes, which may overwrite the former.
  int64_t LeastBytes(const Removed& removed) const {
    const Graph& graph = rewritten_.graph;
    const auto found =
        FindSegments(graph, {&removed.segment, 1}, CompleteOrder(graph, order_.order));
    if (!found.ok()) return 0;
    const auto bytes_of = [&](const std::vector<int>& storages) {
      int64_t bytes = 0;
      for (const int index : storages) {
        const Storage& storage = untiled_.storages[index];
        if (storage.pool == Pool::kArena) bytes += storage.bytes;
      }
      return bytes;
    };
    int64_t most = 0;
    for (const int node : found->segments[0].nodes) {
      most = std::max({most, bytes_of(untiled_.reads[node]), bytes_of(untiled_.writes[node])});
    }
    return most / removed.parts;
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
