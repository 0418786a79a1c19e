// Pools images of floats, a strip of rows at a time.
#ifndef ASHLAR_RUNTIME_MCU_C99_POOL_ROWS_H_
#define ASHLAR_RUNTIME_MCU_C99_POOL_ROWS_H_

#include "runtime/mcu/c99/pool_rows_shape.h"

// `before`: the results of the strips before, which may be `dst`; null at the first strip. Sums
// become means at the last strip.
void ashlar_pool_rows(const ashlar_pool_rows_shape* shape, const void* src, const void* before,
                      void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_POOL_ROWS_H_
