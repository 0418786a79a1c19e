// Times tilings of a graph against the untiled graph. Candidates:
// - images one after the other, if their tensors then stay in caches;
// - all images together, if weights are then read less often;
// - strips, whose tensors are never complete in memory.
//
// A network in slices of the batch alternates with the present one, for a few pairs of runs for
// each number of slices. The times of the operators tell which number of slices is best for every
// range between two cuts; dynamic programming combines the ranges. This tiling, the best with a
// single number of slices, and the tilings that are expected to be fastest then alternate with the
// present network. The fastest is recorded if it is faster with 95 % confidence (MedianIntervalOf,
// below 1).
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_TILES_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_TILES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/plan/request/kernel_record.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

struct TunedTiles {
  struct Trial {
    TileSpec tiles;
    double ratio = 0;  // of the network's time to its present one, the median
  };
  std::vector<Trial> trials;
  TileSpec chosen;  // empty: none
  // For the chosen tiling, confirmed.
  std::optional<MedianInterval> ratio;
};

// Tunes the tiles of a graph before its passes, on the host, for a request without tiles and
// budgets. Uses the kernels in `record`, and stores the choice there. Tries nothing for graphs that
// cannot be tiled.
absl::StatusOr<TunedTiles> TuneTiles(const Graph& graph, PlanRequest request,
                                     const TuneOptions& tune, KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_TILES_H_
