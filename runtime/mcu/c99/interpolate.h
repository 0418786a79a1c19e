// Linear and cubic resizing of floats along one or two axes.
#ifndef ASHLAR_RUNTIME_MCU_C99_INTERPOLATE_H_
#define ASHLAR_RUNTIME_MCU_C99_INTERPOLATE_H_

#include "runtime/mcu/c99/target.h"

// Tensors [outer, y, middle, x, inner]: y and x change their size, and each element is a weighted
// sum of `taps` elements along each. Along y or x, elements outside are `outside`.
typedef struct {
  int32_t outer, y, y_input, y_taps, middle, x, x_input, x_taps, inner;
  float outside;
} ashlar_interpolate_shape;

// Indices (int32_t) and weights (float): [y_taps, y], followed by [x_taps, x]. If the first index
// of an element is -1, it is outside.
void ashlar_interpolate(const ashlar_interpolate_shape* shape, const void* src, const void* indices,
                        const void* weights, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_INTERPOLATE_H_
