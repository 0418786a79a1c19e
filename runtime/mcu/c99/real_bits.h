// The bits of a Float32.
#ifndef ASHLAR_RUNTIME_MCU_C99_REAL_BITS_H_
#define ASHLAR_RUNTIME_MCU_C99_REAL_BITS_H_

#include "runtime/mcu/c99/target.h"

typedef union {
  float value;
  uint32_t bits;
} ashlar_real;

// Returns the magnitude of x with the sign of `sign`.
static inline float ashlar_with_sign(float x, float sign) {
  ashlar_real result, of;
  result.value = x;
  of.value = sign;
  result.bits = (result.bits & 0x7fffffffu) | (of.bits & 0x80000000u);
  return result.value;
}

static inline float ashlar_float_of_bits(uint32_t bits) {
  ashlar_real result;
  result.bits = bits;
  return result.value;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_REAL_BITS_H_
