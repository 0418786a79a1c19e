// The record of the tiled rewrite (tile_geometry.h), written part by part while it runs.
#ifndef ASHLAR_GRAPH_TILING_TILE_RECORD_H_
#define ASHLAR_GRAPH_TILING_TILE_RECORD_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_geometry.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {

// Parts stand inside of parts; operators are added to the part that was begun last and has not
// ended.
class TileRecord {
 public:
  // Adds to `parts`; where that is null, nothing is written down.
  TileRecord(RegionBuilder& builder, std::vector<TiledPart>* parts)
      : builder_(builder), parts_(parts) {}

  bool on() const { return parts_ != nullptr; }

  // Begins a part of a segment that makes `made`, inside of the part at hand. The result is for
  // End, which goes back to that one.
  int Begin(const FoundSegment& segment, int64_t row, int64_t column, const Regions& made);
  void End(int outer) { at_ = outer; }

  // A region of the node's output is made in the part at hand.
  absl::Status AddOperator(int node, const Region& region);
  // What depends on the segment's input in tile (row, column): the product of what the rows and the
  // columns reach.
  absl::Status AddReached(const FoundSegment& segment, int64_t row, int64_t column);

 private:
  RegionBuilder& builder_;
  std::vector<TiledPart>* const parts_;
  int at_ = -1;  // the part at hand: index into parts_
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_RECORD_H_
