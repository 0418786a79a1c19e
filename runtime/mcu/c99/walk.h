// Tensors whose elements are walked in step.
#ifndef ASHLAR_RUNTIME_MCU_C99_WALK_H_
#define ASHLAR_RUNTIME_MCU_C99_WALK_H_

#include "runtime/mcu/c99/target.h"

enum { ASHLAR_AXES = 6 };

// The elements of a walk: by axis how many, the innermost last; unused axes come first, with one.
typedef struct {
  int32_t sizes[ASHLAR_AXES];
} ashlar_walk;

// The elements from one to the next in a tensor, by axis; 0 repeats an element.
typedef struct {
  int32_t by_axis[ASHLAR_AXES];
} ashlar_strides;

#endif  // ASHLAR_RUNTIME_MCU_C99_WALK_H_
