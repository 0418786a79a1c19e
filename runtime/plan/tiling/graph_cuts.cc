#include "runtime/plan/tiling/graph_cuts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/graph_builder.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/base/operands.h"
#include "opr/host_io.h"
#include "opr/table.h"

namespace ashlar {

namespace {

// The input of a graph between cuts, of any type that a var can have, quantised ones included.
class CutInput final : public Operator {
 public:
  explicit CutInput(TensorType type) : type_(std::move(type)) {}
  absl::string_view type() const override { return "CutInput"; }
  std::string base_name() const override { return "from"; }
  ParamList params() const override { return {}; }
  Role role() const override { return Role::kInput; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo>) const override {
    return std::vector<TensorType>{type_};
  }
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor>) const override {
    return absl::FailedPreconditionError("the input of a part has no value");
  }

 private:
  TensorType type_;
};

// Returns the node for the first `images` of `all` images: unchanged, except for constants of all
// images and operators whose parameters contain the number of images. InvalidArgument if it does
// not compute image by image.
absl::StatusOr<Replacement> OfImages(const Graph& graph, const OperatorNode& node, int64_t images,
                                     int64_t all) {
  std::vector<Operand> operands = OwnOperands(node.inputs.size());
  if (images == all || node.op->role() != Role::kCompute) return Replacement{node.op, operands};
  const OwnedSite site = graph.SiteOf(node);
  const auto error = [&] {
    return absl::InvalidArgumentError(absl::StrCat(node.name, " does not make image by image"));
  };
  if (site.outputs.size() != 1 || site.outputs[0].shape.rank() == 0) return error();
  Region region = WholeRegion(site.outputs[0].shape);
  region[0].end = region[0].end / all * images;
  const std::optional<std::vector<Region>> needed = node.op->InputRegions(region, site);
  if (!needed || region[0].end == 0) return error();
  if (std::optional<Replacement> at = node.op->AtRegion(region, *needed, site)) {
    return *std::move(at);
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const HostTensor* const value = graph.constant(node.inputs[i]);
    if (value == nullptr || node.op->input_use(static_cast<int>(i)) != InputUse::kDeviceValue) {
      continue;
    }
    const Region& part = (*needed)[i];
    if (part == WholeRegion(value->shape())) continue;
    Shape shape = value->shape();
    if (part[0].begin != 0) return error();
    shape[0] = part[0].end;
    // The first images are the first bytes.
    const auto owner = std::make_shared<const HostTensor>(*value);
    operands[i] = {Operand::From::kConstant, 0,
                   HostTensor::Borrow(value->dtype(), shape, owner, value->raw())
                       .As(value->dtype(), value->quantization())};
  }
  return Replacement{node.op, std::move(operands)};
}

}  // namespace

std::vector<GraphCut> FindCuts(const Graph& graph, absl::Span<const int> order) {
  std::vector<GraphCut> cuts;
  if (graph.inputs().size() != 1) return cuts;
  std::vector<int> position(graph.nodes().size(), -1);
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  int until = -1;  // the last position at which a var from before the last cut is read
  for (size_t i = 0; i < order.size(); ++i) {
    const OperatorNode& node = graph.node(order[i]);
    if (node.op->role() == Role::kConstant || node.op->role() == Role::kOutput) continue;
    const bool single = until <= static_cast<int>(i) && node.outputs.size() == 1;
    for (int var : node.outputs) {
      for (int reader : graph.readers(var)) until = std::max(until, position[reader]);
    }
    const bool begins = node.op->role() == Role::kInput;
    if (begins || (single && !cuts.empty())) cuts.push_back({node.outputs[0], static_cast<int>(i)});
  }
  return cuts;
}

absl::StatusOr<Graph> GraphBetween(const Graph& graph, absl::Span<const int> order,
                                   const GraphCut& from, const GraphCut& to, int64_t images) {
  GraphBuilder builder(graph.var(from.var).comp_node, graph.next_id());
  absl::flat_hash_map<int, int> map;
  const TensorType& type = graph.var(from.var).type;
  // If the first axis of a tensor is not the number of images, the same share of it.
  const Shape& whole = graph.var(graph.inputs()[0].var).type.shape;
  const int64_t all = whole.rank() > 0 ? std::max<int64_t>(whole[0], 1) : 1;
  TensorType input = type.Reshaped(type.shape);
  if (input.shape.rank() > 0) {
    if (input.shape[0] * images % all != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(graph.var(from.var).name, " has no equal share for each image"));
    }
    input.shape[0] = input.shape[0] * images / all;
  }
  GraphBuilder::NodeOptions options;
  options.name = "from";
  options.output_formats = {type.format};
  const OperatorNode& first = graph.node(graph.var(from.var).producer);
  options.id = first.id;
  ASHLAR_ASSIGN_OR_RETURN(
      std::vector<int> added,
      builder.Add(std::make_shared<const CutInput>(std::move(input)), {}, options));
  map[from.var] = added[0];
  for (int i = from.position + 1; i <= to.position; ++i) {
    const OperatorNode& node = graph.node(order[i]);
    if (node.op->role() == Role::kConstant || node.op->role() == Role::kInput) continue;
    ASHLAR_ASSIGN_OR_RETURN(const Replacement part, OfImages(graph, node, images, all));
    std::vector<int> inputs;
    for (const Operand& operand : part.operands) {
      const int var = operand.from == Operand::From::kConstant ? -1 : node.inputs[operand.input];
      if (const auto it = map.find(var); it != map.end()) {
        inputs.push_back(it->second);
        continue;
      }
      const HostTensor* value = var < 0 ? &operand.constant : graph.host_value(var);
      if (value == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(node.name, " reads ", graph.var(var).name, " from before the cut"));
      }
      GraphBuilder::NodeOptions constant;
      if (var >= 0) constant.name = graph.var(var).name;
      ASHLAR_ASSIGN_OR_RETURN(
          added, builder.Add(Operators().MakeConstant(*value), {}, std::move(constant)));
      if (var >= 0) map[var] = added[0];
      inputs.push_back(added[0]);
    }
    GraphBuilder::NodeOptions same;
    same.name = node.name;
    same.id = node.id;
    for (int var : node.outputs) {
      same.output_formats.push_back(graph.var(var).type.format);
    }
    ASHLAR_ASSIGN_OR_RETURN(added, builder.Add(part.op, std::move(inputs), std::move(same)));
    for (size_t k = 0; k < added.size(); ++k) map[node.outputs[k]] = added[k];
  }
  ASHLAR_RETURN_IF_ERROR(
      builder.Add(std::make_shared<const OutputCallback>(OutputParam()), {map.at(to.var)})
          .status());
  return std::move(builder).Build();
}

}  // namespace ashlar
