// The graph of 8 bits, once the types of its tensors are known.
#ifndef ASHLAR_QUANTIZATION_REWRITE_H_
#define ASHLAR_QUANTIZATION_REWRITE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "quantization/layers.h"

namespace ashlar {

// `types`: by var of the graph that has a type of 8 bits. Vars keep their ids and names, in 8 bits
// or not; conversions stand where floats meet bytes. With `input`, the type of the graph's input in
// `types`, too, the input is of these bytes (Uint8).
absl::StatusOr<Graph> RewriteInEightBits(const Graph& graph, const LayerPlan& plan,
                                         const std::vector<TensorType>& types,
                                         bool weights_by_channel,
                                         const std::optional<TensorType>& input = std::nullopt);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_REWRITE_H_
