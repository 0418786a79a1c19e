// Rounds floats to whole numbers.
#ifndef ASHLAR_RUNTIME_MCU_C99_ROUND_H_
#define ASHLAR_RUNTIME_MCU_C99_ROUND_H_

#include "runtime/mcu/c99/real_bits.h"

// Returns x rounded half to even. From 2^23 on, all floats are whole.
static inline float ashlar_rint(float x) {
  const float magnitude = ashlar_with_sign(x, 1.0f);
  if (!(magnitude < 8388608.0f)) return x;
  return ashlar_with_sign((magnitude + 8388608.0f) - 8388608.0f, x);
}

static inline float ashlar_floor(float x) {
  const float rounded = ashlar_rint(x);
  return rounded > x ? rounded - 1.0f : rounded;
}

static inline float ashlar_ceil(float x) {
  const float rounded = ashlar_rint(x);
  return rounded < x ? ashlar_with_sign(rounded + 1.0f, x) : rounded;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_ROUND_H_
