// The maxima of windows of bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_MAX_POOL8_H_
#define ASHLAR_RUNTIME_MCU_C99_MAX_POOL8_H_

#include "runtime/mcu/c99/window.h"

typedef struct {
  int32_t batch, channels;
  ashlar_axis h, w;
  ashlar_steps src, dst;
  int32_t src_flip;  // as in ashlar_conv8_shape
} ashlar_max_pool8_shape;

void ashlar_max_pool8(const ashlar_max_pool8_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_MAX_POOL8_H_
