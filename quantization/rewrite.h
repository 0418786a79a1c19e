// Builds the 8-bit graph from the types of its tensors.
#ifndef ASHLAR_QUANTIZATION_REWRITE_H_
#define ASHLAR_QUANTIZATION_REWRITE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "quantization/layers.h"

namespace ashlar {

// Rewrites `graph` in 8 bits. `types`: by var, for vars with an 8-bit type. Vars keep their ids and
// names, in 8 bits or not; conversions are inserted between floats and bytes. With `input`, the
// type of the graph's input in `types` too, the graph's input takes these bytes (Uint8).
absl::StatusOr<Graph> RewriteInEightBits(const Graph& graph, const LayerPlan& plan,
                                         const std::vector<TensorType>& types,
                                         bool weights_by_channel,
                                         const std::optional<TensorType>& input = std::nullopt);

// Returns whether a var is an input of the graph, or the Float32 conversion of such an input.
bool IsInputInFloats(const Graph& graph, int var);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_REWRITE_H_
