// The segments of a graph that are tiled, and their regions.
#ifndef ASHLAR_GRAPH_TILING_TILE_SPEC_H_
#define ASHLAR_GRAPH_TILING_TILE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

enum class TileKind {
  kBatch,      // images
  kRows,       // rows; overlaps are computed twice
  kLines,      // rows; overlaps are kept from one strip to the next
  kGrid,       // rows and columns; overlaps are computed twice
  kInputGrid,  // a grid over the input: each tile computes all outputs that depend on its slice of
               // the input
  kRolling,    // rolling lines: as kLines, but rows are released one by one, the input's too
};

// Returns whether overlaps are kept from one strip to the next.
constexpr bool IsLines(TileKind kind) {
  return kind == TileKind::kLines || kind == TileKind::kRolling;
}

// A segment of a graph: the operators on paths from `from`, whose output 0 they read, to `to`,
// inclusive. Both are operator ids. A segment may begin and end at several tensors: it has all
// operators on paths from `from` or `also_from` to `to` or `also_to` that pass no other beginning.
struct TileSegment {
  int from = 0;
  int to = 0;
  TileKind kind = TileKind::kRows;
  int64_t count = 1;               // tiles along the batch or the rows
  int64_t count_width = 1;         // tiles along the columns: kGrid and kInputGrid
  std::vector<TileSegment> inner;  // segments of each tile
  // Strips that keep rows (IsLines): the operators, by id, whose rows are computed again in each
  // strip that reads them, and not kept.
  std::vector<int> again = {};
  std::vector<int> also_from = {}, also_to = {};

  // Returns "FROM-TO", as in the text of a spec.
  std::string Ends() const;
  friend bool operator==(const TileSegment&, const TileSegment&) = default;
};

// A list of segments without common operators.
//
// In text: "FROM-TO:KIND", or "FROM+FROM-TO+TO:KIND" if there are several, with KIND batchN, rowsN,
// linesN, rollingN, gridNxM or inputgridNxM (N rows of M tiles), joined by ';'. Operators whose
// rows are computed again follow linesN and rollingN: "2-96:lines14~8~20". Segments inside of
// another follow it in parentheses: "2-180:batch10(2-96:lines14;96-117:rows2)". The empty text has
// no segments.
struct TileSpec {
  std::vector<TileSegment> segments;

  static absl::StatusOr<TileSpec> Parse(absl::string_view text);
  std::string ToString() const;
  bool empty() const { return segments.empty(); }
  // Returns whether a segment, at any depth, is of this kind.
  bool Has(TileKind kind) const;
  friend bool operator==(const TileSpec&, const TileSpec&) = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_SPEC_H_
