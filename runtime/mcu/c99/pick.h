// Copies elements selected by an index along each axis.
#ifndef ASHLAR_RUNTIME_MCU_C99_PICK_H_
#define ASHLAR_RUNTIME_MCU_C99_PICK_H_

#include "runtime/mcu/c99/walk.h"

// A walk over units of so many bytes, in the order of the output.
typedef struct {
  ashlar_walk walk;
  int32_t unit;
} ashlar_pick_shape;

// Places (int32_t): for each axis and index along it, an offset in `src` in units. An element's
// offset is the sum over its axes.
void ashlar_pick(const ashlar_pick_shape* shape, const void* src, const void* places, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_PICK_H_
