// Converts floats to bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_QUANTIZE8_H_
#define ASHLAR_RUNTIME_MCU_C99_QUANTIZE8_H_

#include "runtime/mcu/c99/walk.h"

// The shape of x / scale, rounded and clamped to [low, high], in steps from the zero point.
typedef struct {
  ashlar_walk walk;
  ashlar_strides src, dst;
  float scale, low, high;
  int32_t zero_point;
} ashlar_quantize8_shape;

void ashlar_quantize8(const ashlar_quantize8_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_QUANTIZE8_H_
