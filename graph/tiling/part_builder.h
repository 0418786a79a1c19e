// Adds a segment's operators tile by tile; all kinds of tiling are written with it.
#ifndef ASHLAR_GRAPH_TILING_PART_BUILDER_H_
#define ASHLAR_GRAPH_TILING_PART_BUILDER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tiling/region_builder.h"
#include "graph/tiling/tile_record.h"

namespace ashlar {

// The pieces that are visible while a tile is built, by var of the source: its own first, then the
// pieces of the enclosing tiles.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}

  void Set(int var, Piece piece) { pieces_[var] = std::move(piece); }
  bool Has(int var) const {
    return pieces_.contains(var) || (outer_ != nullptr && outer_->Has(var));
  }
  const Piece& Find(int var) const {
    const auto it = pieces_.find(var);
    return it != pieces_.end() ? it->second : outer_->Find(var);
  }

 private:
  const Scope* outer_;
  absl::flat_hash_map<int, Piece> pieces_;
};

// How the operators of a tile are made.
struct PartStyle {
  bool rows = false;  // images in rows (NHCW16c)
  std::string part;   // appended to names
};

class PartBuilder {
 public:
  // `record`: see TileRecord.
  PartBuilder(const Graph& graph, const OperatorTable& operators, bool adds_quantized,
              std::vector<TiledPart>* record)
      : regions_(graph, operators, adds_quantized), record_(regions_, record) {}
  PartBuilder(const PartBuilder&) = delete;
  PartBuilder& operator=(const PartBuilder&) = delete;

  RegionBuilder& regions() { return regions_; }
  TileRecord& record() { return record_; }
  const Graph& source() const { return regions_.source(); }

  // Adds the whole node, reading the pieces in scope; adds its outputs to the scope.
  absl::Status AddWhole(int node, Scope& scope);
  // Adds the node for a region of its output, reading the pieces in scope.
  absl::StatusOr<Piece> AddPart(int node, const Region& region, const Scope& scope,
                                const PartStyle& style);

  // Adds the operator that joins rows `rows` of the node's input, reading the piece in scope.
  // `before`: as in RegionBuilder::AddJoined.
  absl::StatusOr<Piece> AddJoined(int node, const Range& rows, const Piece* before,
                                  const Scope& scope, const PartStyle& style);

  // Adds to `regions` the region of each var that `nodes` must compute for the regions already in
  // it.
  absl::Status AddNeeds(absl::Span<const int> nodes, Regions& regions);

  // Joins the pieces of each output, which follow each other along `axis`, and adds the results to
  // the scope. Outputs are visited in the order of vars, so the graph is the same every time.
  absl::Status JoinOutputs(const std::map<int, std::vector<Piece>>& pieces, int axis, Scope& scope);

  absl::StatusOr<Graph> Finish() && { return std::move(regions_).Finish(); }

 private:
  // Returns the pieces of a node's inputs in scope.
  absl::StatusOr<std::vector<Piece>> InputsOf(int node, const Scope& scope);

  RegionBuilder regions_;
  TileRecord record_;
};

// Returns InvalidArgument: the segment asks for more tiles than `var` has of `what` ("rows").
absl::Status TooManyParts(const Graph& source, const TileSegment& spec, int64_t parts, int64_t size,
                          absl::string_view what, int var);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_PART_BUILDER_H_
