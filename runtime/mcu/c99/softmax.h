// Softmax of Float32.
#ifndef ASHLAR_RUNTIME_MCU_C99_SOFTMAX_H_
#define ASHLAR_RUNTIME_MCU_C99_SOFTMAX_H_

#include "runtime/mcu/c99/target.h"

// The shape of tensors [outer, axis, inner].
typedef struct {
  int32_t outer, axis, inner;
} ashlar_softmax_shape;

// `dst` may be `src`.
void ashlar_softmax(const ashlar_softmax_shape* shape, const void* src, void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_SOFTMAX_H_
