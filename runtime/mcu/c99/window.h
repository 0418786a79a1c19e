// Windows that slide over an image.
#ifndef ASHLAR_RUNTIME_MCU_C99_WINDOW_H_
#define ASHLAR_RUNTIME_MCU_C99_WINDOW_H_

#include "runtime/mcu/c99/target.h"

// One axis: output o reads the input at o * stride - padding + tap * dilation.
typedef struct {
  int32_t input, output, window, stride, dilation, padding;
} ashlar_axis;

// Elements from one image, row, column and channel to the next.
typedef struct {
  int32_t image, row, column, channel;
} ashlar_steps;

#endif  // ASHLAR_RUNTIME_MCU_C99_WINDOW_H_
