// The graph of 8 bits, once the types of its tensors are known.
#ifndef ASHLAR_QUANTIZATION_REWRITE_H_
#define ASHLAR_QUANTIZATION_REWRITE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "quantization/layers.h"

namespace ashlar {

// `types`: by var of the graph that has a type of 8 bits. Vars keep their ids and names, in 8 bits
// or not; conversions stand where floats meet bytes.
absl::StatusOr<Graph> RewriteInEightBits(const Graph& graph, const LayerPlan& plan,
                                         const std::vector<TensorType>& types,
                                         bool weights_by_channel);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_REWRITE_H_
