// Host tensors as vectors of doubles, for references that are exact in Float64, too.
#ifndef ASHLAR_OPR_BASE_DOUBLES_H_
#define ASHLAR_OPR_BASE_DOUBLES_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/tensor.h"

namespace ashlar {

inline std::vector<double> ToDoubles(const HostTensor& tensor) {
  std::vector<double> values(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.At(static_cast<int64_t>(i));
  return values;
}

// Makes a tensor from values, one per element, rounded to the dtype.
inline HostTensor FromDoubles(DType dtype, const Shape& shape, absl::Span<const double> values) {
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) tensor.Set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_DOUBLES_H_
