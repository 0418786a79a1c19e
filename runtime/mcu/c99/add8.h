// Sums of bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_ADD8_H_
#define ASHLAR_RUNTIME_MCU_C99_ADD8_H_

#include "runtime/mcu/c99/fixed_factors.h"
#include "runtime/mcu/c99/walk.h"

// The shape of ((a - a_zero_point) * a_scale + (b - b_zero_point) * b_scale) / scale. It is rounded
// and clamped to [low, high], in steps from the zero point. Bytes are flipped as in
// ashlar_conv8_shape. If `fixed` has a shift, ashlar_fixed_sum replaces the formula.
typedef struct {
  ashlar_walk walk;
  ashlar_strides a, b, dst;
  int32_t a_flip, a_zero_point, b_flip, b_zero_point;
  float a_scale, b_scale, scale;
  ashlar_fixed_factors fixed;
  float low, high;
  int32_t zero_point;
} ashlar_add8_shape;

// `dst` may be `a` or `b`.
void ashlar_add8(const ashlar_add8_shape* shape, const void* a, const void* b, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_ADD8_H_
