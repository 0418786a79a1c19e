// Convolution of bytes with one filter per channel.
#ifndef ASHLAR_RUNTIME_MCU_C99_DEPTHWISE8_H_
#define ASHLAR_RUNTIME_MCU_C99_DEPTHWISE8_H_

#include "runtime/mcu/c99/conv8_shape.h"

// `shape` has one group per channel. Filter: int8_t [rows, columns, channels]. Otherwise like
// ashlar_conv8.
void ashlar_depthwise8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                       const void* bias, const void* factors, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_DEPTHWISE8_H_
