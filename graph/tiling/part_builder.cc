#include "graph/tiling/part_builder.h"

#include "absl/strings/str_cat.h"
#include "graph/status.h"

namespace ashlar {

absl::Status PartBuilder::AddWhole(int node, Scope& scope) {
  const OperatorNode& n = source().node(node);
  std::vector<int> inputs;
  for (int var : n.inputs) {
    if (!scope.Has(var)) {
      return absl::InternalError(absl::StrCat("tiles do not make an input of ", n.name));
    }
    inputs.push_back(scope.Find(var).var);
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs, regions_.AddWhole(n, inputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    scope.Set(n.outputs[i], {outputs[i], WholeRegion(source().var(n.outputs[i]).type.shape)});
  }
  return absl::OkStatus();
}

absl::StatusOr<Piece> PartBuilder::AddPart(int node, const Region& region, const Scope& scope,
                                           const PartStyle& style) {
  ASHLAR_RETURN_IF_ERROR(record_.AddOperator(node, region));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, InputsOf(node, scope));
  return regions_.AddPart(node, region, pieces, style.rows, style.part);
}

absl::StatusOr<std::vector<Piece>> PartBuilder::InputsOf(int node, const Scope& scope) {
  const OperatorNode& n = source().node(node);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const int var = n.inputs[i];
    // A shape that is computed in the segment is the shape of the whole tensor, and no tile
    // computes it.
    if (n.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue && !scope.Has(var)) {
      ASHLAR_ASSIGN_OR_RETURN(pieces.emplace_back(), regions_.Value(var));
      continue;
    }
    pieces.push_back(scope.Find(var));
  }
  return pieces;
}

absl::StatusOr<Piece> PartBuilder::AddJoined(int node, const Range& rows, const Piece* before,
                                             const Scope& scope, const PartStyle& style) {
  record_.AddJoined(node, rows);
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, InputsOf(node, scope));
  return regions_.AddJoined(node, rows, pieces, before, style.part);
}

absl::Status PartBuilder::AddNeeds(absl::Span<const int> nodes, Regions& regions) {
  for (size_t i = nodes.size(); i-- > 0;) {
    const OperatorNode& node = source().node(nodes[i]);
    const auto region = regions.find(node.outputs[0]);
    if (region == regions.end()) continue;
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<Region> needed,
                            regions_.InputRegions(nodes[i], Region(region->second)));
    for (size_t k = 0; k < needed.size(); ++k) {
      if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue) continue;
      Region& sum = regions[node.inputs[k]];
      sum = Hull(sum, needed[k]);
    }
  }
  return absl::OkStatus();
}

absl::Status PartBuilder::JoinOutputs(const std::map<int, std::vector<Piece>>& pieces, int axis,
                                      Scope& scope) {
  for (const auto& [var, parts] : pieces) {
    ASHLAR_ASSIGN_OR_RETURN(Piece whole, regions_.Join(parts, axis));
    if (parts.size() > 1) regions_.HandOn(whole);
    scope.Set(var, std::move(whole));
  }
  return absl::OkStatus();
}

absl::Status TooManyParts(const Graph& source, const TileSegment& spec, int64_t parts, int64_t size,
                          absl::string_view what, int var) {
  return absl::InvalidArgumentError(absl::StrCat("tile segment ", spec.Ends(), ": ", parts,
                                                 " parts of ", size, " ", what, " of ",
                                                 source.var(var).name));
}

}  // namespace ashlar
