// Adds operators on regions of tensors to a new graph. The tiled rewrite is written with it.
#ifndef ASHLAR_GRAPH_TILING_REGION_BUILDER_H_
#define ASHLAR_GRAPH_TILING_REGION_BUILDER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph_builder.h"
#include "graph/operator_table.h"
#include "graph/rewriter.h"

namespace ashlar {

// A var of the new graph that holds a region of a var of the source.
struct Piece {
  int var = -1;
  Region region;
};

// By id of a node that computes a tile of a source node: the id of the source node. kHandedOn: the
// node makes data for other tiles, such as a joined output or rows for the next strip.
inline constexpr int kHandedOn = -1;
using PartsOfNodes = absl::flat_hash_map<int, int>;

// Regions of the source's vars, by var.
using Regions = absl::flat_hash_map<int, Region>;

class RegionBuilder {
 public:
  // `adds_quantized`: as in Tile.
  RegionBuilder(const Graph& source, const OperatorTable& operators, bool adds_quantized = true);

  const Graph& source() const { return rewriter_.source(); }
  Site site(int node) { return SiteOf(node); }

  // Returns the input regions that `node` needs for a region of its only output, if it can be
  // tiled.
  absl::StatusOr<std::vector<Region>> InputRegions(int node, const Region& region);

  // Adds the whole node; returns its outputs.
  absl::StatusOr<std::vector<int>> AddWhole(const OperatorNode& node, absl::Span<const int> inputs);
  // Adds the node for a region of its output. `pieces` hold its inputs and contain the regions that
  // it needs. With `rows`, images in blocks (NCHW16c) become images in rows (NHCW16c). `part` is
  // appended to the name.
  absl::StatusOr<Piece> AddPart(int node, const Region& region, absl::Span<const Piece> pieces,
                                bool rows, absl::string_view part);

  // Returns the operator that joins rows `rows` of the node's input (TilingRules::JoinRows), or
  // nullopt.
  std::optional<Replacement> JoinRows(int node, const Range& rows);
  // Adds it; `pieces` hold the node's inputs, of the first these rows. `before`: its output for the
  // rows before, if there are any.
  absl::StatusOr<Piece> AddJoined(int node, const Range& rows, absl::Span<const Piece> pieces,
                                  const Piece* before, absl::string_view part);

  // By id of a node that computes a tile: the id of the tiled source node.
  const PartsOfNodes& parts() const { return parts_; }
  void HandOn(const Piece& piece) {
    const Graph& graph = builder().graph();
    parts_[graph.node(graph.var(piece.var).producer).id] = kHandedOn;
  }

  // Returns the type of a var of the graph that is built.
  const TensorType& TypeOf(int new_var) { return builder().graph().var(new_var).type; }
  // Returns whether rows of an image that this piece has are views of it.
  bool HasRows(const Piece& piece);

  // Adds the value of a source var that is known at compile time (Graph::host_value) as a constant.
  // FailedPrecondition if it is not known.
  absl::StatusOr<Piece> Value(int var);

  // Returns exactly `region` of a piece.
  absl::StatusOr<Piece> Crop(const Piece& piece, const Region& region);
  // Copies `region` to memory of its own, so that the rest of the piece can be freed.
  absl::StatusOr<Piece> Copy(const Piece& piece, const Region& region);
  // Joins pieces that follow each other along `axis`.
  absl::StatusOr<Piece> Join(absl::Span<const Piece> pieces, int axis);

  absl::StatusOr<Graph> Finish() && { return std::move(rewriter_).Finish(); }

 private:
  const OwnedSite& SiteOf(int node);
  GraphBuilder& builder() { return rewriter_.builder(); }
  // Returns whether `region` is contiguous in the piece's memory.
  bool IsContiguous(const Piece& piece, const Region& region);
  // Returns the format of an output computed from these inputs.
  Format OutputFormat(int node, int output, absl::Span<const int> inputs, bool rows);
  // Converts the inputs to one format if the operator requires it (FormatRule::kUniform).
  absl::Status Unify(int node, Format format, std::vector<int>& inputs);
  absl::StatusOr<int> AddOperator(OperatorPtr op, std::vector<int> inputs, std::string name,
                                  Format format);
  // Adds an operator for a region of the node's output.
  absl::StatusOr<Piece> AddFor(int node, const Region& region, OperatorPtr op,
                               std::vector<int> inputs, Format format, absl::string_view part);
  absl::StatusOr<int> Integer(int64_t value);
  // Returns the vars of operands whose inputs are `inputs`.
  absl::StatusOr<std::vector<int>> VarsOf(std::vector<Operand> operands,
                                          absl::Span<const int> inputs, const Piece* before);

  GraphRewriter rewriter_;
  const OperatorTable& operators_;
  const bool adds_quantized_;
  std::vector<std::optional<OwnedSite>> sites_;            // by node
  absl::flat_hash_map<int64_t, int> integers_;             // constants, by value
  absl::flat_hash_map<int, Piece> values_;                 // by var of the source
  absl::flat_hash_map<int, OperatorPtr> concats_;          // by axis
  absl::flat_hash_map<uint32_t, OperatorPtr> subtensors_;  // by the set of axes
  absl::flat_hash_map<std::pair<int, Region>, Piece> crops_;
  absl::flat_hash_map<std::pair<int, Format>, int> relayouts_;
  PartsOfNodes parts_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_REGION_BUILDER_H_
