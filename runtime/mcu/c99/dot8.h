// Sums of products of bytes: the innermost loop of convolutions.
#ifndef ASHLAR_RUNTIME_MCU_C99_DOT8_H_
#define ASHLAR_RUNTIME_MCU_C99_DOT8_H_

#include "runtime/mcu/c99/target.h"

// Adds to sums[i], for the first `lanes` of four, the products of `count` inputs, `step` bytes
// apart, with the weights from weights + i * pitch on.
static inline void ashlar_dot8(const uint8_t* x, int32_t step, int32_t flip, int32_t zero_point,
                               const int8_t* weights, int32_t pitch, int32_t lanes, int32_t count,
                               int32_t* sums) {
  const int8_t* const w0 = weights;
  const int8_t* const w1 = w0 + (lanes > 1 ? pitch : 0);
  const int8_t* const w2 = w1 + (lanes > 2 ? pitch : 0);
  const int8_t* const w3 = w2 + (lanes > 3 ? pitch : 0);
  int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3], i;
  for (i = 0; i < count; ++i, x += step) {
    const int32_t value = (*x ^ flip) - zero_point;
    s0 += value * w0[i];
    s1 += value * w1[i];
    s2 += value * w2[i];
    s3 += value * w3[i];
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_DOT8_H_
