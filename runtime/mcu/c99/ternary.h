// Functions of three tensors of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_TERNARY_H_
#define ASHLAR_RUNTIME_MCU_C99_TERNARY_H_

#include "runtime/mcu/c99/walk.h"

enum {
  ASHLAR_MULTIPLY_ADD,  // a * b + c
  ASHLAR_SELECT         // b if a is not 0, otherwise c
};

// A function of the list above.
typedef struct {
  ashlar_walk walk;
  ashlar_strides a, b, c, dst;
  int32_t function;
} ashlar_ternary_shape;

// `dst` may be `a`, `b` or `c`.
void ashlar_ternary(const ashlar_ternary_shape* shape, const void* a, const void* b, const void* c,
                    void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_TERNARY_H_
