// Linear resizing of images of bytes in fixed-point numbers.
#ifndef ASHLAR_RUNTIME_MCU_C99_RESIZE8_H_
#define ASHLAR_RUNTIME_MCU_C99_RESIZE8_H_

#include "runtime/mcu/c99/target.h"

// Images [outer, y, x, inner]: y and x change their size.
typedef struct {
  int32_t outer, y, y_input, x, x_input, inner;
  int32_t src_flip;  // as in ashlar_conv8_shape
} ashlar_resize8_shape;

// `places`: y, then x numbers; each is the index of the first of an output's two inputs, times
// 4096, plus the weight of the second in 2^-11. If the weight is 0, there is no second input.
void ashlar_resize8(const ashlar_resize8_shape* shape, const void* src, const void* places,
                    void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_RESIZE8_H_
