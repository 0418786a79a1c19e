// Elements picked by index along each axis.
#ifndef ASHLAR_RUNTIME_MCU_C99_PICK_H_
#define ASHLAR_RUNTIME_MCU_C99_PICK_H_

#include "runtime/mcu/c99/walk.h"

// A walk over units of so many bytes in the order in which they are written.
typedef struct {
  ashlar_walk walk;
  int32_t unit;
} ashlar_pick_shape;

// Places (int32_t): by axis, for each element of it, the units from the beginning of `src`; those
// of all axes are added.
void ashlar_pick(const ashlar_pick_shape* shape, const void* src, const void* places, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_PICK_H_
