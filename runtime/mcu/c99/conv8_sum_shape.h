// Shapes of convolutions of bytes that add a tensor.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_SHAPE_H_

#include "runtime/mcu/c99/conv8_shape.h"

// The tensor z that is added to the rounded sums:
//   (sum * sum_scale + (z - z_zero_point) * z_scale) / scale
// is rounded again and clamped to [low, high], in steps from the zero point.
typedef struct {
  ashlar_conv8_shape convolution;
  ashlar_steps z;
  int32_t z_flip, z_zero_point;
  float sum_scale, z_scale, scale;
  float low, high;
  int32_t zero_point;
} ashlar_conv8_sum_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_SHAPE_H_
