// The position of an operator in a graph: the types of its inputs and outputs.
#ifndef ASHLAR_GRAPH_SITE_H_
#define ASHLAR_GRAPH_SITE_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/shape.h"
#include "graph/tensor.h"

namespace ashlar {

// An input as shape inference sees it. `value` is null if it is not statically known.
struct InputInfo {
  TensorType type;
  const HostTensor* value = nullptr;
};

// Output types are those from Operator::Infer, in the formats in which they are stored.
struct Site {
  absl::Span<const InputInfo> inputs;
  absl::Span<const TensorType> outputs;
};

// A Site that owns its lists.
struct OwnedSite {
  std::vector<InputInfo> inputs;
  std::vector<TensorType> outputs;

  operator Site() const { return {inputs, outputs}; }
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_SITE_H_
