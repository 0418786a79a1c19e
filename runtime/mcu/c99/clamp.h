// Bounds of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_CLAMP_H_
#define ASHLAR_RUNTIME_MCU_C99_CLAMP_H_

#include "runtime/mcu/c99/target.h"

// Returns x clamped to [low, high]; NaN stays NaN.
static inline float ashlar_clamp(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return raised > high ? high : raised;
}

#endif  // ASHLAR_RUNTIME_MCU_C99_CLAMP_H_
