// Candidate segments in strips of which some operators compute rows again instead of keeping them
// (TileSegment::again), with estimates.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_AGAIN_TRIALS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_AGAIN_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "runtime/plan/tiling/tiling_trials.h"

namespace ashlar {

// A candidate and its estimates for one image: bytes beside the tensors at the ends of the segment,
// and FLOPs that are computed again.
struct AgainTrial {
  TilingTrial trial;
  int64_t bytes = 0;
  double flops = 0;
};

// Returns segments between cuts `i` and `j` in strips of `kind` (IsLines), with sets of operators
// that keep fewer and fewer bytes; `with_columns`: in the most strips, and also in tiles that
// divide the columns, each in strips. `most`: FLOPs of one image that may be computed again. Empty
// if an operator needs a whole image, or nothing is kept.
std::vector<AgainTrial> AgainTrials(const Graph& graph, absl::Span<const int> order,
                                    absl::Span<const GraphCut> cuts, size_t i, size_t j,
                                    int64_t images, TileKind kind, double most, bool with_columns);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_AGAIN_TRIALS_H_
