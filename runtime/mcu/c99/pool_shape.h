// Shapes of pooling of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_POOL_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_POOL_SHAPE_H_

#include "runtime/mcu/c99/window.h"

typedef struct {
  int32_t batch, channels;
  ashlar_axis h, w;
  ashlar_steps src, dst;
  int32_t count;  // that divides the sum of a mean; 0: the number of its elements
} ashlar_pool_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_POOL_SHAPE_H_
