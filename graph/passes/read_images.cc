// Lets operators that read the elements of an image in another shape, as a classifier does, read
// the image itself: then they may join its strips (TilingRules::JoinRows).
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/passes/pass.h"
#include "graph/rewriter.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// An image, and the order of its axes in the elements that are read (RewriteRules::ReadingImage).
struct FlatImage {
  int var = -1;
  std::vector<int64_t> axes;
};

// Returns the image of several rows whose elements a var has in another shape.
std::optional<FlatImage> FlatImageOf(const Graph& graph, int var) {
  FlatImage image;
  const int read = var;
  for (;;) {
    const Shape& shape = graph.var(var).type.shape;
    if (var != read && shape.rank() == 4 && shape[0] == 1 && shape[2] > 1) image.var = var;
    const OperatorNode& node = graph.node(graph.var(var).producer);
    if (node.op->role() != Role::kCompute || node.outputs.size() != 1) break;
    const std::optional<Movement> movement = node.op->AsMovement(graph.SiteOf(node).inputs);
    if (!movement) break;
    if (!movement->axes.empty()) {
      // The elements of the moved image are read in order.
      if (image.var != var || movement->axes.size() != 4 || movement->axes[0] != 0) break;
      image = {node.inputs[0], movement->axes};
      break;
    }
    var = node.inputs[0];
  }
  if (image.var < 0 || graph.var(image.var).type.shape[2] <= 1) return std::nullopt;
  return image;
}

}  // namespace

absl::StatusOr<Graph> ReadImages(const Graph& graph, const OperatorTable& operators) {
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    std::optional<Replacement> reading;
    std::optional<FlatImage> image;
    if (node.op->role() == Role::kCompute && node.outputs.size() == 1 && !node.inputs.empty()) {
      image = FlatImageOf(graph, node.inputs[0]);
    }
    if (image) {
      reading = node.op->ReadingImage(graph.SiteOf(node).inputs, graph.var(image->var).type.shape,
                                      image->axes);
    }
    if (!reading) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
      continue;
    }
    GraphBuilder& builder = rewriter.builder();
    std::vector<int> inputs;
    for (Operand& operand : reading->operands) {
      if (operand.from != Operand::From::kConstant) {
        inputs.push_back(
            rewriter.Map(operand.input == 0 ? image->var : node.inputs[operand.input]));
        continue;
      }
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> constant,
                              builder.Add(operators.MakeConstant(std::move(operand.constant)), {}));
      inputs.push_back(constant[0]);
    }
    const Shape& shape = graph.var(node.outputs[0]).type.shape;
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                            builder.Add(reading->op, std::move(inputs)));
    const HostTensor target =
        HostTensor::FromValues<int64_t>(DType::kInt64, {shape.rank()}, shape.dims());
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> constant,
                            builder.Add(operators.MakeConstant(target), {}));
    ASHLAR_ASSIGN_OR_RETURN(OperatorPtr reshape, operators.Make("Reshape", {}));
    ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, std::move(reshape), {made[0], constant[0]}));
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
