// Sums of products of bytes, and rounding them from Float32 to 8-bit integers.
#ifndef ASHLAR_RUNTIME_MCU_C99_ROUND8_H_
#define ASHLAR_RUNTIME_MCU_C99_ROUND8_H_

#include "runtime/mcu/c99/target.h"

// Wraps around, as vectors do.
static inline int32_t ashlar_sum8(int32_t a, int32_t b) {
  return (int32_t)((uint32_t)a + (uint32_t)b);
}

// Returns `steps` rounded half to even and clamped to [low, high], which are integers below 2^22.
// NaN becomes `low`. Adding 1.5 * 2^23 leaves no bits for a fraction.
static inline int32_t ashlar_round8(float steps, float low, float high) {
  steps = steps > low ? steps : low;
  steps = steps < high ? steps : high;
  return (int32_t)((steps + 12582912.0f) - 12582912.0f);
}

#endif  // ASHLAR_RUNTIME_MCU_C99_ROUND8_H_
