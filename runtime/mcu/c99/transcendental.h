// Functions of one tensor of floats that are made of exponentials, logarithms or series.
#ifndef ASHLAR_RUNTIME_MCU_C99_TRANSCENDENTAL_H_
#define ASHLAR_RUNTIME_MCU_C99_TRANSCENDENTAL_H_

#include "runtime/mcu/c99/unary_shape.h"

enum {
  ASHLAR_ELU,  // p * (e^x - 1) below 0
  ASHLAR_ERF,
  ASHLAR_EXP,
  ASHLAR_GELU,
  ASHLAR_GELU_TANH,
  ASHLAR_LOG,
  ASHLAR_MISH,
  ASHLAR_SIGMOID,
  ASHLAR_SILU,
  ASHLAR_SOFTPLUS,
  ASHLAR_TANH
};

// `function` is one of the list above. `dst` may be `src`.
void ashlar_transcendental(const ashlar_unary_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_TRANSCENDENTAL_H_
