// Shapes of functions of one tensor.
#ifndef ASHLAR_RUNTIME_MCU_C99_UNARY_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_UNARY_SHAPE_H_

#include "runtime/mcu/c99/walk.h"

// A function of a list, and its parameters.
typedef struct {
  ashlar_walk walk;
  ashlar_strides src, dst;
  int32_t function;
  float p, q;
} ashlar_unary_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_UNARY_SHAPE_H_
