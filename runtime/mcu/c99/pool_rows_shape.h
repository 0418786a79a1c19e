// A strip of rows of an image that is pooled as a whole.
#ifndef ASHLAR_RUNTIME_MCU_C99_POOL_ROWS_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_POOL_ROWS_SHAPE_H_

#include "runtime/mcu/c99/window.h"

typedef struct {
  int32_t batch, channels, rows, columns;
  ashlar_steps src, dst;  // dst: also of the results of the strips before
  int32_t maxima;         // otherwise sums
  int32_t count;          // at the last strip the elements of the image, otherwise 0
} ashlar_pool_rows_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_POOL_ROWS_SHAPE_H_
