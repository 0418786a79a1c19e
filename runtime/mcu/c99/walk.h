// Walks over the elements of several tensors at once.
#ifndef ASHLAR_RUNTIME_MCU_C99_WALK_H_
#define ASHLAR_RUNTIME_MCU_C99_WALK_H_

#include "runtime/mcu/c99/target.h"

enum { ASHLAR_AXES = 6 };

// The number of elements along each axis, innermost last. Unused axes come first, with size 1.
typedef struct {
  int32_t sizes[ASHLAR_AXES];
} ashlar_walk;

// The step between elements of a tensor along each axis; 0 repeats an element.
typedef struct {
  int32_t by_axis[ASHLAR_AXES];
} ashlar_strides;

#endif  // ASHLAR_RUNTIME_MCU_C99_WALK_H_
