// Quantised types as optional parameters of operators that compute with integers.
#ifndef ASHLAR_OPR_BASE_OUTPUT_TYPE_H_
#define ASHLAR_OPR_BASE_OUTPUT_TYPE_H_

#include <cmath>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/shape.h"

namespace ashlar {

// The parameter names of an OutputType's fields.
struct OutputTypeNames {
  const char *dtype = "output_dtype", *scale = "scale", *zero_point = "zero_point";
};

// A scale of 0 means absent: the output's type follows from the inputs.
struct OutputType {
  DType dtype = DType::kFloat32;
  double scale = 0;
  int64_t zero_point = 0;

  bool absent() const { return scale == 0; }
  template <typename V>
  void Visit(V& v, const OutputTypeNames& names = {}) {
    v.Optional(names.dtype, dtype, DType::kFloat32, DTypeNames());
    v.Optional(names.scale, scale, 0.0);
    v.Optional(names.zero_point, zero_point, int64_t{0});
  }
  friend bool operator==(const OutputType&, const OutputType&) = default;
};

// Returns the output's type. InvalidArgument if it is not a quantised 8-bit type.
absl::StatusOr<TensorType> QuantizedType(const OutputType& output, const Shape& shape);
// The inverse of QuantizedType.
OutputType OutputTypeOf(const TensorType& type);

// Returns rint(steps) + zero point, half to even, saturated; `least` for NaN. `steps` is the value
// divided by the scale.
inline int32_t Quantize(float steps, int32_t zero_point, int32_t least, int32_t most) {
  const float moved = std::nearbyint(steps) + static_cast<float>(zero_point);
  return moved >= static_cast<float>(most)   ? most
         : moved > static_cast<float>(least) ? static_cast<int32_t>(moved)
                                             : least;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_OUTPUT_TYPE_H_
