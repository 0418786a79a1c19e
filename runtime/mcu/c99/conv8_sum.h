// Convolution of bytes, followed by the addition of a tensor.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_H_

#include "runtime/mcu/c99/conv8_sum_shape.h"

void ashlar_conv8_sum(const ashlar_conv8_sum_shape* shape, const void* src, const void* filter,
                      const void* bias, const void* factors, const void* z, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_SUM_H_
