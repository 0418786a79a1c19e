// Tiles of a graph timed against the graph as it is: images one after the other where their
// tensors then stay in caches, all together where weights are read less often for it, and strips
// whose tensors are never all there.
//
// A network in parts of the batch takes turns with the present one, a few pairs of runs for each
// number of parts. What each operator took in either says for every stretch between two cuts how
// many parts it had best; dynamic programming puts stretches together. That, the best of one number
// throughout and the tilings that are expected to be fastest then take turns with the present
// network, and the fastest, if it is faster beyond doubt (MedianIntervalOf, below 1), goes on
// record.
#ifndef ASHLAR_RUNTIME_MEASURE_TUNE_TILES_H_
#define ASHLAR_RUNTIME_MEASURE_TUNE_TILES_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/measure/median_interval.h"
#include "runtime/measure/tune_options.h"
#include "runtime/plan/kernel_record.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

struct TunedTiles {
  struct Trial {
    TileSpec tiles;
    double ratio = 0;  // of the network's time over its present one, the median
  };
  std::vector<Trial> trials;
  TileSpec chosen;  // empty: none
  // Of the chosen ones, confirmed.
  std::optional<MedianInterval> ratio;
};

// Of a graph before its passes, on the host, with the kernels of `record`, into which the choice
// goes, under a request without tiles and budgets. Nothing is tried for graphs that cannot be
// tiled.
absl::StatusOr<TunedTiles> TuneTiles(const Graph& graph, PlanRequest request,
                                     const TuneOptions& tune, KernelRecord& record);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TUNE_TILES_H_
