// Sums of products of bytes: the innermost loop of convolutions.
#ifndef ASHLAR_RUNTIME_MCU_C99_DOT8_H_
#define ASHLAR_RUNTIME_MCU_C99_DOT8_H_

#include "runtime/mcu/c99/target.h"

// Adds to four sums the products of `count` inputs, `step` bytes apart, with weights stored in
// groups of four. Not inlined, so that the sums stay in registers.
ASHLAR_APART static void ashlar_dot8(const uint8_t* x, int32_t step, int32_t flip,
                                     int32_t zero_point, const int8_t* weights, int32_t count,
                                     int32_t* sums) {
  const int8_t* const end = weights + 4 * count;
  int32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  for (; weights != end; weights += 4, x += step) {
    const int32_t value = (*x ^ flip) - zero_point;
    s0 += value * weights[0];
    s1 += value * weights[1];
    s2 += value * weights[2];
    s3 += value * weights[3];
  }
  sums[0] = s0;
  sums[1] = s1;
  sums[2] = s2;
  sums[3] = s3;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_DOT8_H_
