// Shapes of convolutions of bytes that are a part of sums.
#ifndef ASHLAR_RUNTIME_MCU_C99_CONV8_PART_SHAPE_H_
#define ASHLAR_RUNTIME_MCU_C99_CONV8_PART_SHAPE_H_

#include "runtime/mcu/c99/conv8_shape.h"

// The sums so far, z, are int32_t. So is the output, with steps of such integers, if it is
// unfinished.
typedef struct {
  ashlar_conv8_shape convolution;
  ashlar_steps z;
  int32_t unfinished;
} ashlar_conv8_part_shape;

#endif  // ASHLAR_RUNTIME_MCU_C99_CONV8_PART_SHAPE_H_
