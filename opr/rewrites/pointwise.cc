// Scalar functions as chains, and in 8 bits.
#include <optional>

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
  const int made = graph.Add<ElemwiseMultiType>({param(), OutputTypeOf(choice.output)},
                                                {inputs.begin(), inputs.end()});
  ASHLAR_RETURN_IF_ERROR(graph.status());
  return made;
}

std::optional<Replacement> ElemwiseChain::Chain(absl::Span<const InputInfo> inputs,
                                                const Consumer& consumer) const {
  return ChainElemwise(*this, inputs, consumer);
}

}  // namespace ashlar
