// Sums, means and extremes of floats along an axis.
#ifndef ASHLAR_RUNTIME_MCU_C99_REDUCE_H_
#define ASHLAR_RUNTIME_MCU_C99_REDUCE_H_

#include "runtime/mcu/c99/target.h"

enum { ASHLAR_SUM, ASHLAR_SUM_OF_SQUARES, ASHLAR_LEAST, ASHLAR_GREATEST };

// Tensors [outer, axis, inner] and [outer, inner]. `function` is one of the list above; sums are
// divided by `count`.
typedef struct {
  int32_t outer, axis, inner, function;
  float count;
} ashlar_reduce_shape;

void ashlar_reduce(const ashlar_reduce_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_REDUCE_H_
