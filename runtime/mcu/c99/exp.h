// The exponential function for Float32, with bit-identical results on every target.
#ifndef ASHLAR_RUNTIME_MCU_C99_EXP_H_
#define ASHLAR_RUNTIME_MCU_C99_EXP_H_

#include "runtime/mcu/c99/target.h"

// Returns e^x within 2 units in the last place; 0 below the smallest normal number, infinity above
// the largest. Computes x = k * log(2) + r with |r| <= log(2) / 2, and e^r by its series.
static inline float ashlar_exp(float x) {
  union {
    float value;
    uint32_t bits;
  } scale;
  float r, k, y;
  if (!(x == x)) return x;
  if (x > 88.722f) {
    scale.bits = 0x7f800000u;
    return scale.value;
  }
  if (x < -87.33f) return 0;
  k = (x * 1.44269504f + 12582912.0f) - 12582912.0f;
  r = x - k * 0.693359375f;     // upper bits of log(2): exact
  r = r - k * -2.12194440e-4f;  // the rest
  y = 1.0f / 5040;
  y = y * r + 1.0f / 720;
  y = y * r + 1.0f / 120;
  y = y * r + 1.0f / 24;
  y = y * r + 1.0f / 6;
  y = y * r + 0.5f;
  y = y * r * r + r + 1.0f;
  // In two steps, because 2^128 is not a Float32.
  scale.bits = (uint32_t)((int32_t)k / 2 + 127) << 23;
  y = y * scale.value;
  scale.bits = (uint32_t)((int32_t)k - (int32_t)k / 2 + 127) << 23;
  return y * scale.value;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_EXP_H_
