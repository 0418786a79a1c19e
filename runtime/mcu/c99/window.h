// Windows that slide over an image.
#ifndef ASHLAR_RUNTIME_MCU_C99_WINDOW_H_
#define ASHLAR_RUNTIME_MCU_C99_WINDOW_H_

#include "runtime/mcu/c99/target.h"

// An axis of a window: output o reads input elements o * stride - padding + tap * dilation.
typedef struct {
  int32_t input, output, window, stride, dilation, padding;
} ashlar_axis;

// The elements between images, rows, columns and channels.
typedef struct {
  int32_t image, row, column, channel;
} ashlar_steps;

#endif  // ASHLAR_RUNTIME_MCU_C99_WINDOW_H_
