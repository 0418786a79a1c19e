// Candidate segments that the search for tilings evaluates.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TILING_TRIALS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TILING_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/tiling/graph_cuts.h"

namespace ashlar {

inline constexpr int64_t kMostStrips = 128;  // of one segment

// A candidate: the nodes between two cuts (indices into a list of cuts), in tiles.
struct TilingTrial {
  size_t i = 0, j = 0;
  TileKind kind = TileKind::kLines;
  int64_t count = 0, count_width = 1;
  int64_t images = 1;
  std::optional<TileSegment> segment = std::nullopt;  // instead of all nodes between the cuts
};

// Returns the id of the node that produces the tensor of a cut at a single one. Segment boundaries
// are named by it.
int IdOf(const Graph& graph, const GraphCut& cut);

// Returns the largest number of strips of an image; 0 for other tensors.
int64_t RowsOf(const TensorType& type);
// Returns the same of a cut's images that do not only pass the segment between this cut and
// another.
int64_t RowsOf(const Graph& graph, absl::Span<const GraphCut> cuts, size_t cut, size_t other);

// Returns the first candidate between cuts `i` and `j`: strips.
TilingTrial FirstTrial(const Graph& graph, absl::Span<const GraphCut> cuts, size_t i, size_t j,
                       int64_t images);

// Returns the candidates that show the bytes that a segment needs: in rolling lines, with `lines`
// also in lines; with `recompute` instead in rows and grids.
std::vector<TilingTrial> FirstTrials(const Graph& graph, absl::Span<const GraphCut> cuts, size_t i,
                                     size_t j, int64_t images, bool recompute, bool lines);

// Returns further candidates between cuts `i` and `j`: other numbers of lines, and rows that are
// recomputed instead of saved. With `rolling`, also rolling lines with early release
// (TileKind::kRolling).
std::vector<TilingTrial> RefinedTrials(const Graph& graph, absl::Span<const GraphCut> cuts,
                                       size_t i, size_t j, int64_t images, bool rolling);

// Returns each segment in all kinds of tiles, for one image and for all `images`.
std::vector<TilingTrial> TrialsOfAllKinds(const Graph& graph, absl::Span<const GraphCut> cuts,
                                          int64_t images, bool rolling);

// Returns candidates for the branch to one of several outputs, which is not a cut if the other
// outputs do not depend on it. Tries all kinds of tiles, for all images or one image after the
// other.
std::vector<TilingTrial> TrialsOfBranches(const Graph& graph, absl::Span<const GraphCut> cuts,
                                          int64_t images);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TILING_TRIALS_H_
