// Convolution of floats with one filter per channel.
#ifndef ASHLAR_RUNTIME_MCU_C99_DEPTHWISE_H_
#define ASHLAR_RUNTIME_MCU_C99_DEPTHWISE_H_

#include "runtime/mcu/c99/conv_shape.h"

// `shape` has one group per channel. Filter: [rows, columns, channels]. Otherwise like ashlar_conv.
void ashlar_depthwise(const ashlar_conv_shape* shape, const void* src, const void* filter,
                      const void* bias, const void* z, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_DEPTHWISE_H_
