// Quantised 8-bit types, in the form that the C functions take.
#ifndef ASHLAR_RUNTIME_MCU_BYTES_H_
#define ASHLAR_RUNTIME_MCU_BYTES_H_

#include "graph/shape.h"
#include "opr/base/fixed_point_sum.h"
#include "runtime/mcu/c99/fixed_factors.h"

namespace ashlar::mcu {

// Signed bytes are read as unsigned ones 128 larger, and so is their zero point.
inline int32_t FlipOf(const TensorType& type) {
  return type.dtype == DType::kQuantizedS8 ? 0x80 : 0;
}
inline int32_t ZeroPointOf(const TensorType& type) {
  return type.quantization.zero_point() + FlipOf(type);
}

// Whether it is a quantised 8-bit type with one scale.
inline bool IsQuantizedBytes(const TensorType& type) {
  return IsQuantizedTo8Bits(type.dtype) && type.quantization.scales().size() == 1;
}

// Sets the fields `low`, `high` and `zero_point` of a shape to the integers `least` to `most`, in
// steps from the zero point.
template <typename ShapeStruct>
void SetRounding(int32_t least, int32_t most, int32_t zero_point, ShapeStruct& shape) {
  shape.low = static_cast<float>(least - zero_point);
  shape.high = static_cast<float>(most - zero_point);
  shape.zero_point = zero_point;
}
template <typename ShapeStruct>
void SetRounding(const TensorType& output, ShapeStruct& shape) {
  SetRounding(LeastOf(output.dtype), MostOf(output.dtype), output.quantization.zero_point(), shape);
}

inline ashlar_fixed_factors FixedFactorsOf(const FixedPointSum& sum) {
  return {sum.a, sum.b, sum.shift};
}

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_BYTES_H_
