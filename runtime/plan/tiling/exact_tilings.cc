// Rewrites the graph for each spec, and adds up the live bytes of each step.
#include "runtime/plan/tiling/exact_tilings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "runtime/plan/stages/parallel_for.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/schedule/scheduler.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

std::vector<Tiling> ExactTilings(const TilingProblem& problem, absl::Span<const TileSpec> specs) {
  const ArenaModel& arena = problem.arena;
  const double flops = WeightFlops(problem.graph);
  std::vector<std::optional<Tiling>> tried(specs.size());
  ParallelFor(specs.size(), problem.stop, [&](size_t i) {
    const absl::StatusOr<Graph> tiled = Tile(problem.graph, specs[i], problem.order, Operators());
    if (!tiled.ok()) return;
    const StorageModel model = BuildStorageModel(*tiled, StorageFor(specs[i], arena.storage));
    Tiling tiling;
    tiling.spec = specs[i];
    tiling.arena_bytes = ScheduleAsGiven(*tiled, model, arena.workspace(*tiled, model)).peak_bytes;
    tiling.ms = EstimateTime(*tiled, model, problem.speed);
    if (flops > 0) tiling.extra_flops = std::max(0.0, WeightFlops(*tiled) / flops - 1);
    if (tiling.extra_flops <= problem.max_extra_flops) tried[i] = std::move(tiling);
  });
  std::vector<Tiling> tilings;
  for (std::optional<Tiling>& tiling : tried) {
    if (tiling) tilings.push_back(*std::move(tiling));
  }
  return tilings;
}

}  // namespace ashlar
