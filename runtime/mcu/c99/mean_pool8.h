// Means of windows of bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_MEAN_POOL8_H_
#define ASHLAR_RUNTIME_MCU_C99_MEAN_POOL8_H_

#include "runtime/mcu/c99/window.h"

typedef struct {
  int32_t batch, channels;
  ashlar_axis h, w;
  ashlar_steps src, dst;
  int32_t src_flip, src_zero_point;
  float factor;            // of the sum of a window's integers; 0: means of floats, of
  float src_scale, scale;  // src_scale a step, in steps of `scale`
  float low, high;
  int32_t zero_point;
} ashlar_mean_pool8_shape;

// Padding is no part of a window.
void ashlar_mean_pool8(const ashlar_mean_pool8_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_MEAN_POOL8_H_
