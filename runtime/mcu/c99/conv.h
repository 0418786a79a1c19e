// Convolution of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV_H_

#include "runtime/mcu/c99/conv_shape.h"

// Filter: [groups, out_channels / 4, rows, columns, in_channels, 4], with zeros for channels
// missing in the last four. Bias: one for each output channel. If `bias` or `z` is not null, it is
// added. `dst` may be `z`.
void ashlar_conv(const ashlar_conv_shape* shape, const void* src, const void* filter,
                 const void* bias, const void* z, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV_H_
