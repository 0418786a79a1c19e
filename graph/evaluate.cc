#include "graph/evaluate.h"

#include <algorithm>

namespace ashlar {

absl::StatusOr<std::vector<HostTensor>> EvaluateOperator(const Operator& op,
                                                         absl::Span<const HostTensor> inputs,
                                                         absl::Span<const TensorType> outputs) {
  const auto has_elements = [](const TensorType& type) { return type.shape.num_elements() > 0; };
  if (std::any_of(outputs.begin(), outputs.end(), has_elements)) return op.Evaluate(inputs);
  std::vector<HostTensor> values;
  for (const TensorType& type : outputs) values.push_back(HostTensor::Zeros(type));
  return values;
}

}  // namespace ashlar
