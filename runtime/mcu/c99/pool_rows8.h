// Pools images of bytes, a strip of rows at a time.
#ifndef ASHLAR_RUNTIME_MCU_C99_POOL_ROWS8_H_
#define ASHLAR_RUNTIME_MCU_C99_POOL_ROWS8_H_

#include "runtime/mcu/c99/pool_rows_shape.h"

typedef struct {
  ashlar_pool_rows_shape strip;
  int32_t src_flip, src_zero_point;
  float factor;            // as in ashlar_mean_pool8_shape: not 0 for sums of integers (int32_t);
  float src_scale, scale;  // otherwise sums of floats
  float low, high;
  int32_t zero_point;
} ashlar_pool_rows8_shape;

// `before`: as in ashlar_pool_rows. Results are bytes if they are maxima; otherwise sums of four
// bytes each, and bytes at the last strip.
void ashlar_pool_rows8(const ashlar_pool_rows8_shape* shape, const void* src, const void* before,
                       void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_POOL_ROWS8_H_
