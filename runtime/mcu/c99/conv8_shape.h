// Shapes of convolutions of bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_SHAPE_H_

#include "runtime/mcu/c99/window.h"

// The image is read as (byte ^ src_flip) - src_zero_point: flipping turns signed bytes into
// unsigned ones 128 larger. Sums times their factors are rounded and clamped to [low, high], in
// steps from the zero point.
typedef struct {
  int32_t batch, groups, in_channels, out_channels;  // channels per group
  ashlar_axis h, w;
  ashlar_steps src, dst;
  int32_t src_flip, src_zero_point;
  float low, high;
  int32_t zero_point;
} ashlar_conv8_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_SHAPE_H_
