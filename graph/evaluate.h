// Evaluates operators on the host.
#ifndef ASHLAR_GRAPH_EVALUATE_H_
#define ASHLAR_GRAPH_EVALUATE_H_

#include <vector>

#include "graph/operator.h"

namespace ashlar {

// Evaluates an operator whose outputs have the types `outputs`. If no output has elements, the
// operator is not called.
absl::StatusOr<std::vector<HostTensor>> EvaluateOperator(const Operator& op,
                                                         absl::Span<const HostTensor> inputs,
                                                         absl::Span<const TensorType> outputs);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_EVALUATE_H_
