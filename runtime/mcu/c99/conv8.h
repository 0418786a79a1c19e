// Convolution of bytes.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_H_

#include "runtime/mcu/c99/conv8_shape.h"

// Filter: int8_t [groups, out_channels / 4, rows, columns * in_channels / 4, 4, 4], with zeros
// for channels and inputs missing in the last fours; its address is a multiple of 4. Innermost are
// four inputs of one output channel. Bias (int32_t) and factors (float): one for each output
// channel.
void ashlar_conv8(const ashlar_conv8_shape* shape, const void* src, const void* filter,
                  const void* bias, const void* factors, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_H_
