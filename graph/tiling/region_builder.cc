#include "graph/tiling/region_builder.h"

#include <algorithm>

#include "graph/status.h"

namespace ashlar {

RegionBuilder::RegionBuilder(const Graph& source, const OperatorTable& operators,
                             bool adds_quantized)
    : rewriter_(source),
      operators_(operators),
      adds_quantized_(adds_quantized),
      sites_(source.nodes().size()) {}

const OwnedSite& RegionBuilder::SiteOf(int node) {
  std::optional<OwnedSite>& site = sites_[node];
  if (!site) site = source().SiteOf(source().node(node));
  return *site;
}

absl::StatusOr<std::vector<Region>> RegionBuilder::InputRegions(int node, const Region& region) {
  const OperatorNode& n = source().node(node);
  const OwnedSite& site = SiteOf(node);
  if (std::optional<std::vector<Region>> regions = n.op->InputRegions(region, site)) {
    return *std::move(regions);
  }
  if (!IsWhole(region, site.outputs[0].shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Describe(n), " does not make a part of its output, ", ToString(region), " of ",
                     site.outputs[0].shape.ToString(), ", from a part of its input"));
  }
  std::vector<Region> whole;
  for (const InputInfo& input : site.inputs) whole.push_back(WholeRegion(input.type.shape));
  return whole;
}

bool RegionBuilder::IsContiguous(const Piece& piece, const Region& region) {
  const Format format = TypeOf(piece.var).format;
  // In memory, an image's channels are inside its rows, or inside its pixels.
  static constexpr int kRows[] = {0, 2, 1, 3}, kLast[] = {0, 2, 3, 1};
  const int* const order = format == Format::kNHCW16c ? kRows
                           : format == Format::kNHWC  ? kLast
                                                      : nullptr;
  bool cut = false;  // a dimension further in is cut
  for (int i = static_cast<int>(region.size()) - 1; i >= 0; --i) {
    const int axis = order == nullptr ? i : order[i];
    if (cut && region[axis].size() != 1) return false;
    cut = cut || region[axis] != piece.region[axis];
  }
  return true;
}

bool RegionBuilder::HasRows(const Piece& piece) {
  Region row = piece.region;
  row[kAxisH].end = row[kAxisH].begin;
  return IsContiguous(piece, row);
}

absl::StatusOr<int> RegionBuilder::Integer(int64_t value) {
  const auto [entry, is_new] = integers_.try_emplace(value, -1);
  if (is_new) {
    HostTensor tensor = HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {&value, 1});
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                            builder().Add(operators_.MakeConstant(std::move(tensor)), {}));
    integers_[value] = outputs[0];
    return outputs[0];
  }
  return entry->second;
}

absl::StatusOr<Piece> RegionBuilder::Value(int var) {
  if (const auto known = values_.find(var); known != values_.end()) return known->second;
  const HostTensor* const value = source().host_value(var);
  if (value == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        source().var(var).name, ": its value is not known before it is computed in parts"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                          builder().Add(operators_.MakeConstant(*value), {}));
  return values_[var] = {outputs[0], WholeRegion(value->shape())};
}

absl::StatusOr<int> RegionBuilder::AddOperator(OperatorPtr op, std::vector<int> inputs,
                                               std::string name, Format format) {
  GraphBuilder::NodeOptions options;
  options.name = std::move(name);
  options.output_formats = {format};
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                          builder().Add(std::move(op), std::move(inputs), std::move(options)));
  return outputs[0];
}

absl::StatusOr<Piece> RegionBuilder::Crop(const Piece& piece, const Region& region) {
  if (piece.region == region) return piece;
  Piece& crop = crops_[{piece.var, region}];
  if (crop.var >= 0) return crop;
  uint32_t axes = 0;
  std::vector<int> inputs = {piece.var};
  std::vector<int64_t> list;
  for (size_t axis = 0; axis < region.size(); ++axis) {
    if (region[axis] == piece.region[axis]) continue;
    axes |= uint32_t{1} << axis;
    list.push_back(static_cast<int64_t>(axis));
    for (const int64_t bound : {region[axis].begin, region[axis].end}) {
      ASHLAR_ASSIGN_OR_RETURN(const int integer, Integer(bound - piece.region[axis].begin));
      inputs.push_back(integer);
    }
  }
  OperatorPtr& op = subtensors_[axes];
  if (op == nullptr) {
    const std::vector<int64_t> given(list.size(), 1), not_given(list.size(), 0);
    ASHLAR_ASSIGN_OR_RETURN(op, operators_.Make("Subtensor", {{"axis", list},
                                                              {"begin", given},
                                                              {"end", given},
                                                              {"step", not_given},
                                                              {"idx", not_given}}));
  }
  const std::string name = absl::StrCat(builder().graph().var(piece.var).name, ":part");
  ASHLAR_ASSIGN_OR_RETURN(crop.var,
                          AddOperator(op, std::move(inputs), name, TypeOf(piece.var).format));
  crop.region = region;
  return crop;
}

absl::StatusOr<Piece> RegionBuilder::Copy(const Piece& piece, const Region& region) {
  ASHLAR_ASSIGN_OR_RETURN(const Piece part, Crop(piece, region));
  OperatorPtr& op = concats_[0];
  if (op == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(op, operators_.Make("Concat", {{"axis", int64_t{0}}}));
  }
  const std::string name = absl::StrCat(builder().graph().var(piece.var).name, ":halo");
  ASHLAR_ASSIGN_OR_RETURN(const int var,
                          AddOperator(op, {part.var}, name, TypeOf(part.var).format));
  return Piece{var, region};
}

absl::StatusOr<Piece> RegionBuilder::Join(absl::Span<const Piece> pieces, int axis) {
  if (pieces.size() == 1) return pieces[0];
  OperatorPtr& op = concats_[axis];
  if (op == nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(op, operators_.Make("Concat", {{"axis", int64_t{axis}}}));
  }
  std::vector<int> inputs;
  Region region = pieces[0].region;
  for (const Piece& piece : pieces) {
    inputs.push_back(piece.var);
    region[axis].end = piece.region[axis].end;
  }
  const std::string name = absl::StrCat(builder().graph().var(inputs.back()).name, ":joined");
  const Format format = TypeOf(inputs[0]).format;
  ASHLAR_ASSIGN_OR_RETURN(const int var, AddOperator(op, std::move(inputs), name, format));
  return Piece{var, region};
}

Format RegionBuilder::OutputFormat(int node, int index, absl::Span<const int> inputs, bool rows) {
  const OwnedSite& site = SiteOf(node);
  const TensorType& output = site.outputs[index];
  if (output.format != Format::kNCHW16c) return output.format;
  if (rows) return Format::kNHCW16c;
  const auto in_rows = [&](size_t i) { return TypeOf(inputs[i]).format == Format::kNHCW16c; };
  const Operator& op = *source().node(node).op;
  // Convolutions, poolings and LRN read one format and write another; other operators follow their
  // inputs.
  if (op.storage_rules(site).format != FormatRule::kBlocked) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (in_rows(i)) return Format::kNHCW16c;
    }
    return output.format;
  }
  // An addend that is overwritten keeps its format.
  for (const Aliasing::Overwrite& overwrite : op.aliasing(site).overwrites) {
    if (overwrite.output != index) continue;
    if (in_rows(static_cast<size_t>(overwrite.input))) return Format::kNHCW16c;
  }
  return output.format;
}

absl::Status RegionBuilder::Unify(int node, Format format, std::vector<int>& inputs) {
  if (!IsBlocked(format)) return absl::OkStatus();
  const StorageRules rules = source().node(node).op->storage_rules(SiteOf(node));
  if (rules.format != FormatRule::kUniform) {
    return absl::OkStatus();
  }
  for (int& input : inputs) {
    if (!MayBeImage(TypeOf(input), format) || TypeOf(input).format == format) continue;
    const auto [entry, is_new] = relayouts_.try_emplace({input, format}, -1);
    if (is_new) {
      const std::string name = absl::StrCat(builder().graph().var(input).name, ":relayout");
      ASHLAR_ASSIGN_OR_RETURN(const int var,
                              AddOperator(operators_.MakeRelayout(format), {input}, name, format));
      relayouts_[{input, format}] = var;
      input = var;
    } else {
      input = entry->second;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int>> RegionBuilder::AddWhole(const OperatorNode& node,
                                                         absl::Span<const int> inputs) {
  GraphBuilder::NodeOptions options = rewriter_.Identity(node);
  options.recorded_workspace = node.recorded_workspace;
  std::vector<int> operands(inputs.begin(), inputs.end());
  const int index = source().var(node.outputs[0]).producer;
  if (node.op->role() == Role::kCompute) {
    std::vector<Format>& formats = options.output_formats;
    for (size_t i = 0; i < formats.size(); ++i) {
      formats[i] = OutputFormat(index, static_cast<int>(i), operands, /*rows=*/false);
    }
    // All images among the outputs have one format.
    const auto image = std::find_if(formats.begin(), formats.end(), IsBlocked);
    if (image != formats.end()) ASHLAR_RETURN_IF_ERROR(Unify(index, *image, operands));
  }
  return builder().Add(node.op, std::move(operands), std::move(options));
}

absl::StatusOr<Piece> RegionBuilder::AddPart(int node, const Region& region,
                                             absl::Span<const Piece> pieces, bool rows,
                                             absl::string_view part) {
  const OperatorNode& n = source().node(node);
  const OwnedSite& site = SiteOf(node);
  ASHLAR_ASSIGN_OR_RETURN(std::vector<Region> given, InputRegions(node, region));
  std::vector<int> inputs;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) {
      inputs.push_back(pieces[i].var);
      continue;
    }
    if (n.op->CropsInput(static_cast<int>(i)) && !IsContiguous(pieces[i], given[i])) {
      // The operator reads its slice of rows and columns in place.
      for (size_t axis = 2; axis < given[i].size(); ++axis) {
        given[i][axis] = pieces[i].region[axis];
      }
    }
    ASHLAR_ASSIGN_OR_RETURN(const Piece piece, Crop(pieces[i], given[i]));
    inputs.push_back(piece.var);
  }
  const Format format = OutputFormat(node, 0, inputs, rows);
  ASHLAR_RETURN_IF_ERROR(Unify(node, format, inputs));
  OperatorPtr op = n.op;
  if (std::optional<Replacement> at = n.op->AtRegion(region, given, site)) {
    op = at->op;
    ASHLAR_ASSIGN_OR_RETURN(inputs, VarsOf(std::move(at->operands), inputs, nullptr));
  }
  if (format == Format::kNHCW16c && op->storage_rules(site).names_format) {
    op = operators_.MakeRelayout(format);
  }
  return AddFor(node, region, std::move(op), std::move(inputs), format, part);
}

absl::StatusOr<std::vector<int>> RegionBuilder::VarsOf(std::vector<Operand> operands,
                                                       absl::Span<const int> inputs,
                                                       const Piece* before) {
  std::vector<int> vars;
  for (Operand& operand : operands) {
    if (operand.from == Operand::From::kBefore) {
      vars.push_back(before->var);
    } else if (operand.from != Operand::From::kConstant) {
      vars.push_back(inputs[operand.input]);
    } else {
      ASHLAR_ASSIGN_OR_RETURN(
          const std::vector<int> constant,
          builder().Add(operators_.MakeConstant(std::move(operand.constant)), {}));
      vars.push_back(constant[0]);
    }
  }
  return vars;
}

std::optional<Replacement> RegionBuilder::JoinRows(int node, const Range& rows) {
  const OperatorNode& n = source().node(node);
  const bool quantized = IsQuantized(SiteOf(node).inputs[0].type.dtype);
  if (quantized && !adds_quantized_ && source().HasWeights(n)) return std::nullopt;
  return n.op->JoinRows(rows, SiteOf(node));
}

absl::StatusOr<Piece> RegionBuilder::AddJoined(int node, const Range& rows,
                                               absl::Span<const Piece> pieces, const Piece* before,
                                               absl::string_view part) {
  const OwnedSite& site = SiteOf(node);
  Region strip = WholeRegion(site.inputs[0].type.shape);
  strip[kAxisN] = pieces[0].region[kAxisN];
  strip[kAxisH] = rows;
  ASHLAR_ASSIGN_OR_RETURN(const Piece read, Crop(pieces[0], strip));
  std::vector<int> inputs = {read.var};
  for (const Piece& piece : pieces.subspan(1)) inputs.push_back(piece.var);
  // Sums before the last rows have another type, which may have no other order of channels.
  Format format = OutputFormat(node, 0, inputs, /*rows=*/true);
  const bool last = rows.end == site.inputs[0].type.shape[kAxisH];
  if (!last && !IsBlocked(format)) format = Format::kDefault;
  Region region = WholeRegion(site.outputs[0].shape);
  region[kAxisN] = strip[kAxisN];
  std::optional<Replacement> joined = JoinRows(node, rows);
  ASHLAR_ASSIGN_OR_RETURN(inputs, VarsOf(std::move(joined->operands), inputs, before));
  return AddFor(node, region, std::move(joined->op), std::move(inputs), format, part);
}

absl::StatusOr<Piece> RegionBuilder::AddFor(int node, const Region& region, OperatorPtr op,
                                            std::vector<int> inputs, Format format,
                                            absl::string_view part) {
  const OperatorNode& n = source().node(node);
  GraphBuilder::NodeOptions options;
  options.name = absl::StrCat(n.name, part);
  options.priority = n.priority;
  options.output_formats = {format};
  if (n.recorded_workspace) options.recorded_workspace = RecordedWorkspace{.id = -1};
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                          builder().Add(std::move(op), std::move(inputs), std::move(options)));
  parts_[builder().graph().nodes().back().id] = n.id;
  return Piece{outputs[0], region};
}

}  // namespace ashlar
