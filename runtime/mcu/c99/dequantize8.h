// Converts bytes to floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_DEQUANTIZE8_H_
#define ASHLAR_RUNTIME_MCU_C99_DEQUANTIZE8_H_

#include "runtime/mcu/c99/walk.h"

// The shape of (x - src_zero_point) * scale. Bytes are flipped as in ashlar_conv8_shape.
typedef struct {
  ashlar_walk walk;
  ashlar_strides src, dst;
  int32_t src_flip, src_zero_point;
  float scale;
} ashlar_dequantize8_shape;

void ashlar_dequantize8(const ashlar_dequantize8_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_DEQUANTIZE8_H_
