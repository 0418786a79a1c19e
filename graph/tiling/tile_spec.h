// The segments of a graph that are executed region by region, and their regions.
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
  kInputGrid,  // a grid over the input: each tile makes all outputs that depend on its part of it
  kEbb,        // as kLines, but rows die one by one, those of the input, too
};

// Strips whose overlaps are kept from one to the next.
constexpr bool IsLines(TileKind kind) { return kind == TileKind::kLines || kind == TileKind::kEbb; }

// A part of a graph: the operators on the ways from `from`, whose output 0 they read, to `to`,
// which is one of them. Both are ids of operators.
struct TileSegment {
  int from = 0;
  int to = 0;
  TileKind kind = TileKind::kRows;
  int64_t count = 1;               // parts: of the batch, of the rows
  int64_t count_width = 1;         // of the columns: kGrid and kInputGrid
  std::vector<TileSegment> inner;  // segments of each part

  friend bool operator==(const TileSegment&, const TileSegment&) = default;
};

// Segments that have no operator in common.
//
// In text: "FROM-TO:KIND" with KIND batchN, rowsN, linesN, ebbN, gridNxM or inputgridNxM (N rows
// of M tiles), joined by ';', segments inside of another in parentheses behind it:
// "2-180:batch10(2-96:lines14;96-117:rows2)". The empty text is no segment.
struct TileSpec {
  std::vector<TileSegment> segments;

  static absl::StatusOr<TileSpec> Parse(absl::string_view text);
  std::string ToString() const;
  bool empty() const { return segments.empty(); }
  // Whether a segment, or one inside of another, is of that kind.
  bool Has(TileKind kind) const;
  friend bool operator==(const TileSpec&, const TileSpec&) = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_TILE_SPEC_H_
