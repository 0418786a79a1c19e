// Sums of bytes in fixed-point numbers (opr/base/fixed_point_sum.h).
#ifndef ASHLAR_RUNTIME_MCU_C99_FIXED_FACTORS_H_
#define ASHLAR_RUNTIME_MCU_C99_FIXED_FACTORS_H_

#include "runtime/mcu/c99/target.h"

// Factors of the operands' steps, below 2^21. A shift of 0: there are none.
typedef struct {
  int32_t a, b, shift;
} ashlar_fixed_factors;

// Returns floor((x * a + y * b) / 2^shift + 1/2). x and y are from -255 to 255. C99 leaves shifts
// of negative numbers to the compiler, hence the two complements.
static inline float ashlar_fixed_sum(const ashlar_fixed_factors* s, int32_t x, int32_t y) {
  const int32_t sum = x * s->a + y * s->b + ((int32_t)1 << (s->shift - 1));
  return (float)(sum < 0 ? ~(~sum >> s->shift) : sum >> s->shift);
}

#endif  // ASHLAR_RUNTIME_MCU_C99_FIXED_FACTORS_H_
