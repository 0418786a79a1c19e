// Square roots of Float32.
#ifndef ASHLAR_RUNTIME_MCU_C99_SQRT_H_
#define ASHLAR_RUNTIME_MCU_C99_SQRT_H_

#include "runtime/mcu/c99/real_bits.h"

// Returns the root within one unit in the last place. Halves the exponent, and improves the root by
// three steps of Newton's method.
static inline float ashlar_sqrt(float x) {
  ashlar_real root;
  float scale = 1.0f;
  int step;
  if (x < 0) return ashlar_float_of_bits(0x7fc00000u);
  root.value = x;
  if (x == 0 || !(root.bits < 0x7f800000u)) return x;
  if (root.bits < 0x00800000u) {  // a subnormal number
    root.value = x * 0x1p24f;
    scale = 0x1p-12f;
  }
  x = root.value;
  root.bits = (root.bits >> 1) + 0x1fbd1df5u;
  for (step = 0; step < 3; ++step) root.value = 0.5f * (root.value + x / root.value);
  return root.value * scale;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_SQRT_H_
