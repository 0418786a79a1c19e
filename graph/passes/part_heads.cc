#include "graph/passes/part_heads.h"

#include <utility>
#include <vector>

#include "graph/passes/pattern.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// The parts of one scale, [N, size, H, W], and its pixels.
struct Scale {
  std::vector<int> parts;
  int64_t pixels = 0;
};

// Returns the node that makes a var with one reader, if it is of this type and along this axis
// (-1: along any); otherwise null.
const OperatorNode* MadeFor(const Graph& graph, int var, absl::string_view type, int axis) {
  const OperatorNode& node = graph.node(graph.var(var).producer);
  if (node.op->type() != type || graph.readers(var).size() != 1) return nullptr;
  const auto rank = static_cast<double>(graph.var(var).type.shape.rank());
  const double along = NumberParam(*node.op, "axis", 0);
  return axis < 0 || along == axis || along == axis - rank ? &node : nullptr;
}

// Returns the scales of a split of channels; empty if the node is none.
std::vector<Scale> ScalesOf(const Graph& graph, const OperatorNode& split) {
  constexpr int kChannels = 1, kPixels = 2;
  if (split.op->type() != "Split" || graph.var(split.outputs[0]).type.shape.rank() != 3) return {};
  const OperatorNode* const join = MadeFor(graph, split.inputs[0], "Concat", kPixels);
  const double along = NumberParam(*split.op, "axis", 0);
  if (join == nullptr || (along != kChannels && along != kChannels - 3)) return {};
  std::vector<Scale> scales;
  for (const int flat : join->inputs) {
    const OperatorNode* const reshape = MadeFor(graph, flat, "Reshape", -1);
    const OperatorNode* const parts =
        reshape == nullptr ? nullptr : MadeFor(graph, reshape->inputs[0], "Concat", kChannels);
    if (parts == nullptr || parts->inputs.size() != split.outputs.size()) return {};
    for (size_t i = 0; i < split.outputs.size(); ++i) {
      const Shape &part = graph.var(parts->inputs[i]).type.shape,
                  &wanted = graph.var(split.outputs[i]).type.shape;
      if (part.rank() != 4 || part[0] != wanted[0] || part[1] != wanted[1]) return {};
      if (part.num_elements() == 0) return {};  // its batch is deduced below
    }
    scales.push_back({parts->inputs, graph.var(flat).type.shape[kPixels]});
  }
  return scales;
}

}  // namespace

absl::StatusOr<Graph> PartHeads(const Graph& graph, const OperatorTable& operators) {
  GraphRewriter rewriter(graph);
  GraphBuilder& builder = rewriter.builder();
  ASHLAR_ASSIGN_OR_RETURN(OperatorPtr join, operators.Make("Concat", {{"axis", int64_t{2}}}));
  ASHLAR_ASSIGN_OR_RETURN(OperatorPtr reshape, operators.Make("Reshape", {}));
  for (const OperatorNode& node : graph.nodes()) {
    const std::vector<Scale> scales = ScalesOf(graph, node);
    if (scales.empty()) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));  // Finish drops nodes without a reader
      continue;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Shape& shape = graph.var(node.outputs[i]).type.shape;
      std::vector<int> flat;
      for (const Scale& scale : scales) {
        const HostTensor target = HostTensor::FromValues<int64_t>(
            DType::kInt64, {3}, std::vector<int64_t>{-1, shape[1], scale.pixels});
        ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> dims,
                                builder.Add(operators.MakeConstant(target), {}));
        ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                                builder.Add(reshape, {rewriter.Map(scale.parts[i]), dims[0]}));
        flat.push_back(made[0]);
      }
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> joined, builder.Add(join, std::move(flat)));
      rewriter.Replace(node.outputs[i], joined[0]);
      builder.TakeIdentity(joined[0], graph, node.outputs[i]);
    }
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
