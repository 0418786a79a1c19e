// Shapes of convolutions of bytes that add a tensor.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_SHAPE_H_

#include "runtime/mcu/c99/conv8_shape.h"
#include "runtime/mcu/c99/fixed_factors.h"

// The tensor z that is added to the rounded sums:
//   (sum * sum_scale + (z - z_zero_point) * z_scale) / scale
// is rounded again and clamped to [low, high], in steps from the zero point. If `fixed` has a
// shift, ashlar_fixed_sum replaces this.
typedef struct {
  ashlar_conv8_shape convolution;
  ashlar_steps z;
  int32_t z_flip, z_zero_point;
  float sum_scale, z_scale, scale;
  ashlar_fixed_factors fixed;
  float low, high;
  int32_t zero_point;
} ashlar_conv8_sum_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_SHAPE_H_
