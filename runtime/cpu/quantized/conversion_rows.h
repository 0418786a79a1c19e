// Rows of Float32 to rows of 8 bits, and back.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_CONVERSION_ROWS_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_CONVERSION_ROWS_H_

#include <cstdint>

#include "graph/shape.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {

constexpr int64_t kConvertedRow = 1024;  // the most elements of a row

// Products with the inverse of a scale differ from quotients by a few units in the last place.
// Below 512, both round to the same integer unless they are near a half. Above 512, both saturate.
inline constexpr float kSurelyRounded = 0.5f - 0x1p-12f;

// Returns 0 if the inverse, or a product with it, may be denormal or not finite.
inline float InverseOf(float scale) { return scale > 0x1p-60f && scale < 0x1p60f ? 1 / scale : 0; }

struct ConversionCall {
  const void* from;
  void* to;
  int64_t n, step_from, step_to;  // elements
  float scale, inverse;           // inverse: InverseOf
  RoundingSteps rounding;
};

// Returns a conversion from or to a quantised type of 8 bits with one scale. The caller sets the
// tensors and n; steps are 1.
ConversionCall ConversionOf(const TensorType& integers);

using ConvertRow = void (*)(const ConversionCall& call);
ConvertRow Quantizer(Isa isa);
ConvertRow Dequantizer(DType from, Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_CONVERSION_ROWS_H_
