// Scalar functions as chains, and in 8 bits.
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/elemwise.h"
#include "opr/elemwise_chain.h"
#include "opr/elemwise_multi_type.h"
#include "opr/rewrites/composition.h"

namespace ashlar {

std::optional<Replacement> Elemwise::Chain(absl::Span<const InputInfo> inputs,
                                           const Consumer& consumer) const {
  return ChainElemwise(*this, inputs, consumer);
}

absl::StatusOr<int> Elemwise::MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                            const QuantizationChoice& choice) const {
  Composition graph(builder);
  std::vector<int> operands(inputs.begin(), inputs.end());
  const TensorType& first = builder.graph().var(operands[0]).type;
  // The tensor of the output's shape comes first; quantization_rule says when it may.
  if (!IsQuantized(first.dtype) || first.shape != choice.output.shape) {
    std::swap(operands[0], operands[1]);
  }
  const int made =
      graph.Add<ElemwiseMultiType>({param(), OutputTypeOf(choice.output)}, std::move(operands));
  ASHLAR_RETURN_IF_ERROR(graph.status());
  return made;
}

std::optional<Replacement> ElemwiseChain::Chain(absl::Span<const InputInfo> inputs,
                                                const Consumer& consumer) const {
  return ChainElemwise(*this, inputs, consumer);
}

}  // namespace ashlar
