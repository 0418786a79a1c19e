// Candidate segments in strips of which some operators compute rows again instead of keeping them
// (TileSegment::again), with estimates.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_AGAIN_TRIALS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_AGAIN_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling/graph_cuts.h"

namespace ashlar {

// A candidate between two cuts and its estimates for one image: bytes beside the tensors at the
// ends of the segment, and FLOPs that are computed again. Searches keep many.
struct AgainTrial {
  int64_t strips = 0;
  int64_t parts = 1;                              // tiles that divide the columns, each in strips
  std::shared_ptr<const std::vector<int>> again;  // operators, by id
  int64_t bytes = 0;
  double flops = 0;
};

// Returns `segment`, between two cuts, as the candidate tiles it: in strips of `kind`.
TileSegment InStrips(TileSegment segment, const AgainTrial& candidate, TileKind kind);

// Returns candidates between cuts `i` and `j` in strips (IsLines), with sets of operators that keep
// fewer and fewer bytes; `with_columns`: in the most strips, and also in tiles that divide the
// columns, each in strips. `most`: FLOPs of one image that may be computed again. Empty if an
// operator needs a whole image, or nothing is kept.
std::vector<AgainTrial> AgainTrials(const Graph& graph, absl::Span<const int> order,
                                    absl::Span<const GraphCut> cuts, size_t i, size_t j,
                                    double most, bool with_columns);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_AGAIN_TRIALS_H_
