// Copies of elements.
#ifndef ASHLAR_RUNTIME_MCU_C99_COPY_H_
#define ASHLAR_RUNTIME_MCU_C99_COPY_H_

#include "runtime/mcu/c99/walk.h"

// A walk over units of so many contiguous bytes. Strides are in units. A single unit may overlap
// its copy.
typedef struct {
  ashlar_walk walk;
  ashlar_strides src, dst;
  int32_t unit;
} ashlar_copy_shape;

void ashlar_copy(const ashlar_copy_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_COPY_H_
