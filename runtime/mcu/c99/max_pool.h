// The maxima of windows of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_MAX_POOL_H_
#define ASHLAR_RUNTIME_MCU_C99_MAX_POOL_H_

#include "runtime/mcu/c99/pool_shape.h"

// If an element of a window is NaN, so is the maximum.
void ashlar_max_pool(const ashlar_pool_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_MAX_POOL_H_
