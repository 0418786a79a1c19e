// Means of windows of bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_MEAN_POOL8_H_
#define ASHLAR_RUNTIME_MCU_C99_MEAN_POOL8_H_

#include "runtime/mcu/c99/window.h"

typedef struct {
  int32_t batch, channels;
  ashlar_axis h, w;
  ashlar_steps src, dst;
  int32_t src_flip, src_zero_point;
  float factor;            // not 0: multiplies a window's sum of integers; otherwise
  float src_scale, scale;  // the mean of floats, src_scale per step, is divided by scale
  float low, high;
  int32_t zero_point;
} ashlar_mean_pool8_shape;

// Padding does not count as part of a window.
void ashlar_mean_pool8(const ashlar_mean_pool8_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_MEAN_POOL8_H_
