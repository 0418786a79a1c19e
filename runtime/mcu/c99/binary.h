// Functions of two tensors of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_BINARY_H_
#define ASHLAR_RUNTIME_MCU_C99_BINARY_H_

#include "runtime/mcu/c99/walk.h"

enum {
  ASHLAR_ADD,
  ASHLAR_DIVIDE,
  ASHLAR_EQUAL,  // comparisons: 1 or 0
  ASHLAR_LESS,
  ASHLAR_LESS_OR_EQUAL,
  ASHLAR_MAXIMUM,
  ASHLAR_MINIMUM,
  ASHLAR_MULTIPLY,
  ASHLAR_PRELU,  // b is the slope of negative a
  ASHLAR_SUBTRACT
};

// A function of the list above.
typedef struct {
  ashlar_walk walk;
  ashlar_strides a, b, dst;
  int32_t function;
  float low;  // the least result
} ashlar_binary_shape;

// `dst` may be `a` or `b`.
void ashlar_binary(const ashlar_binary_shape* shape, const void* a, const void* b, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_BINARY_H_
