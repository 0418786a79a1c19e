// Rewrites the graph for each spec, and adds up the live bytes of each step.
#include "runtime/plan/tiling/exact_tilings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/stages/parallel_for.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/tiling/segment_keys.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

namespace {

// Returns nullopt if the graph does not have such tiles.
std::optional<TilingCost> ExactCost(const TilingProblem& problem, const TileSpec& spec,
                                    double flops) {
  const ArenaModel& arena = problem.arena;
  const absl::StatusOr<Graph> tiled =
      Tile(problem.graph, spec, problem.order, Operators(), nullptr, problem.adds_quantized);
  if (!tiled.ok()) return std::nullopt;
  const StorageModel model = BuildStorageModel(*tiled, StorageFor(spec, arena.storage));
  TilingCost cost;
  cost.bytes = ScheduleAsGiven(*tiled, model, arena.workspace(*tiled, model)).peak_bytes;
  cost.ms = EstimateTime(*tiled, model, problem.speed);
  cost.extra_flops = WeightFlops(*tiled) - flops;
  return cost;
}

}  // namespace

std::vector<Tiling> ExactTilings(const TilingProblem& problem, absl::Span<const TileSpec> specs) {
  const double flops = WeightFlops(problem.graph);
  std::vector<std::optional<TilingCost>> costs(specs.size());
  const SegmentKeys keys(problem.graph, problem.order, *problem.costs);
  ParallelFor(specs.size(), problem.stop, [&](size_t i) {
    costs[i] = problem.costs->Of(keys.OfAll(specs[i]),
                                 [&] { return ExactCost(problem, specs[i], flops); });
  });
  std::vector<Tiling> tilings;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!costs[i]) continue;
    const double extra = ExtraRatio(costs[i]->extra_flops, flops);
    if (extra > problem.max_extra_flops) continue;
    tilings.push_back({specs[i], costs[i]->bytes, costs[i]->ms, extra});
  }
  return tilings;
}

}  // namespace ashlar
