// Logarithms of Float32, with bit-identical results on every target.
#ifndef ASHLAR_RUNTIME_MCU_C99_LOG_H_
#define ASHLAR_RUNTIME_MCU_C99_LOG_H_

#include "runtime/mcu/c99/real_bits.h"

// Returns log((1 + s) / (1 - s)) for |s| <= 1/3, by its series.
static inline float ashlar_log_ratio(float s) {
  const float t = s * s;
  float y = 1.0f / 15;
  y = y * t + 1.0f / 13;
  y = y * t + 1.0f / 11;
  y = y * t + 1.0f / 9;
  y = y * t + 1.0f / 7;
  y = y * t + 1.0f / 5;
  y = y * t + 1.0f / 3;
  return 2.0f * (s + s * t * y);
}

// Returns log(1 + x) for x from 0 to 1.
static inline float ashlar_log1p(float x) { return ashlar_log_ratio(x / (2.0f + x)); }

// Computes x = 2^k * m with m from sqrt(1/2) to sqrt(2), and log(m) by its series.
static inline float ashlar_log(float x) {
  ashlar_real m;
  float k = 0;
  int32_t exponent;
  if (x == 0) return ashlar_float_of_bits(0xff800000u);
  if (x < 0) return ashlar_float_of_bits(0x7fc00000u);
  m.value = x;
  if (!(m.bits < 0x7f800000u)) return x;
  if (m.bits < 0x00800000u) {  // a subnormal number
    m.value = x * 0x1p24f;
    k = -24.0f;
  }
  exponent = (int32_t)(m.bits - 0x3f3504f3u) >> 23;
  m.bits -= (uint32_t)exponent << 23;
  k += (float)exponent;
  // The upper bits of log(2) are exact in the product.
  return k * 0.693359375f +
         (ashlar_log_ratio((m.value - 1.0f) / (m.value + 1.0f)) + k * -2.12194440e-4f);
}

#endif  // ASHLAR_RUNTIME_MCU_C99_LOG_H_
