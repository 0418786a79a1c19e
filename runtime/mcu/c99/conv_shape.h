// Shapes of convolutions of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV_SHAPE_H_

#include "runtime/mcu/c99/window.h"

// Results are clamped to [low, high]. z is a tensor like the output.
typedef struct {
  int32_t batch, groups, in_channels, out_channels;  // channels per group
  ashlar_axis h, w;
  ashlar_steps src, z, dst;
  float low, high;
} ashlar_conv_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV_SHAPE_H_
