// Convolution of bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_H_

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

// Filter: int8_t [groups, out_channels / 4, rows, columns, in_channels, 4], with zeros for channels
// missing in the last four. Bias (int32_t) and factors (float): one for each output channel.
void ashlar_conv8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                  const void* bias, const void* factors, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_H_
