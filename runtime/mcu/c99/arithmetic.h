// Functions of one tensor of floats that need only arithmetic.
#ifndef ASHLAR_RUNTIME_MCU_C99_ARITHMETIC_H_
#define ASHLAR_RUNTIME_MCU_C99_ARITHMETIC_H_

#include "runtime/mcu/c99/unary_shape.h"

enum {
  ASHLAR_ABS,
  ASHLAR_CEIL,
  ASHLAR_CLAMP,  // to [p, q]
  ASHLAR_FLOOR,
  ASHLAR_HARD_SIGMOID,  // p * x + q, clamped to [0, 1]
  ASHLAR_HARD_SWISH,
  ASHLAR_LEAKY_RELU,  // p * x below 0
  ASHLAR_NEGATE,
  ASHLAR_RINT,
  ASHLAR_SIGN,
  ASHLAR_SQRT,
  ASHLAR_THRESHOLDED_RELU  // 0 up to p
};

// `function` is one of the list above. `dst` may be `src`.
void ashlar_arithmetic(const ashlar_unary_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_ARITHMETIC_H_
