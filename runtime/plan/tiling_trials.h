// Segments between cuts that the search for tilings tries, before it knows their worth.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_TRIALS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/graph_cuts.h"

namespace ashlar {

// The nodes between two cuts (indices of a list of cuts), in tiles.
struct TilingTrial {
  size_t i = 0, j = 0;
  TileKind kind = TileKind::kLines;
  int64_t count = 0, count_width = 1;
  int64_t images = 1;
  std::optional<TileSegment> segment = std::nullopt;  // instead of all that lies between them
};

// The id of the node that makes a cut's tensor, by which ends of segments are named.
int IdOf(const Graph& graph, const GraphCut& cut);

// The largest number of strips in which an image can be made; 0 of other tensors.
int64_t RowsOf(const TensorType& type);

// A first look at what lies between cuts `i` and `j`: strips.
TilingTrial FirstTrial(const Graph& graph, absl::Span<const GraphCut> cuts, size_t i, size_t j,
                       int64_t images);

// Another look at cuts `i` and `j`: in other numbers of lines, and without lines to be kept but
// with rows computed twice. With `ebb` lines that ebb as well (TileKind::kEbb).
std::vector<TilingTrial> RefinedTrials(const Graph& graph, absl::Span<const GraphCut> cuts,
                                       size_t i, size_t j, int64_t images, bool ebb);

// Each segment in all kinds of tiles, of one image and of all `images`.
std::vector<TilingTrial> TrialsOfAllKinds(const Graph& graph, absl::Span<const GraphCut> cuts,
                                          int64_t images, bool ebb);

// What leads to one of several outputs, which is no cut where the others do not depend on it, in
// all kinds of tiles, of all images or of one after the other.
std::vector<TilingTrial> TrialsOfBranches(const Graph& graph, absl::Span<const GraphCut> cuts,
                                          int64_t images);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_TRIALS_H_
