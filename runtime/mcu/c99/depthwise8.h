// Convolution of bytes in which each channel has a filter of its own.
#ifndef ASHLAR_RUNTIME_MCU_C99_DEPTHWISE8_H_
#define ASHLAR_RUNTIME_MCU_C99_DEPTHWISE8_H_

#include "runtime/mcu/c99/conv8.h"

// `shape` has a group for each channel. Filter: [rows, columns, channels] of int8_t; the rest as
// ashlar_conv8.
void ashlar_depthwise8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                       const void* bias, const void* factors, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_DEPTHWISE8_H_
