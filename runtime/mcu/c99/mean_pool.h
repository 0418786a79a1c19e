// Means of windows of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_MEAN_POOL_H_
#define ASHLAR_RUNTIME_MCU_C99_MEAN_POOL_H_

#include "runtime/mcu/c99/pool_shape.h"

void ashlar_mean_pool(const ashlar_pool_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_MEAN_POOL_H_
