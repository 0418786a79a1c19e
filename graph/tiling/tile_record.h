// Records the tiled rewrite (tile_geometry.h), tile by tile while it runs.
#ifndef ASHLAR_GRAPH_TILING_TILE_RECORD_H_
#define ASHLAR_GRAPH_TILING_TILE_RECORD_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_geometry.h"
#include "graph/tiling/tile_segment.h"

namespace ashlar {

// Tiles are nested. Operators are added to the innermost open tile.
class TileRecord {
 public:
  // Appends to `parts`; records nothing if it is null.
  TileRecord(RegionBuilder& builder, std::vector<TiledPart>* parts)
      : builder_(builder), parts_(parts) {}

  bool on() const { return parts_ != nullptr; }

  // Begins a tile of a segment that computes `made`, inside the current tile. Returns the value to
  // pass to End, which makes the outer tile current again.
  int Begin(const FoundSegment& segment, int64_t row, int64_t column, const Regions& made);
  void End(int outer) { at_ = outer; }

  // Records that the current tile computes `region` of the node's output.
  absl::Status AddOperator(int node, const Region& region);
  // Records that the current tile joins rows of the node's input to its output.
  void AddJoined(int node, const Range& rows);
  // Records the regions that depend on input tile (row, column): the products of the regions that
  // depend on its rows and on its columns.
  absl::Status AddReached(const FoundSegment& segment, int64_t row, int64_t column);

 private:
  RegionBuilder& builder_;
  std::vector<TiledPart>* const parts_;
  int at_ = -1;  // the current tile: index into parts_
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_RECORD_H_
