// Convolution of bytes as a part of sums that are rounded later.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_PART_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_PART_H_

#include "runtime/mcu/c99/conv8_part_shape.h"

// `before`: the sums so far, or NULL. `factors`: not read by an unfinished part.
void ashlar_conv8_part(const ashlar_conv8_part_shape* shape, const void* src, const void* filter,
                       const void* bias, const void* factors, const void* before, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_PART_H_
