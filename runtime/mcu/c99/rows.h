// The rows of a walk: elements that differ only along the innermost axis.
#ifndef ASHLAR_RUNTIME_MCU_C99_ROWS_H_
#define ASHLAR_RUNTIME_MCU_C99_ROWS_H_

#include "runtime/mcu/c99/walk.h"

static inline int32_t ashlar_rows_of(const ashlar_walk* walk) {
  int32_t rows = 1, axis;
  for (axis = 0; axis < ASHLAR_AXES - 1; ++axis) rows *= walk->sizes[axis];
  return rows;
}

// Returns the offset of a row's first element.
static inline int32_t ashlar_row_start(const ashlar_walk* walk, const ashlar_strides* strides,
                                       int32_t row) {
  int32_t start = 0, axis;
  for (axis = ASHLAR_AXES - 2; axis >= 0; --axis) {
    start += row % walk->sizes[axis] * strides->by_axis[axis];
    row /= walk->sizes[axis];
  }
  return start;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_ROWS_H_
