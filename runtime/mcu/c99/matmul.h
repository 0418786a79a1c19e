// Products of matrices of floats.
#ifndef ASHLAR_RUNTIME_MCU_C99_MATMUL_H_
#define ASHLAR_RUNTIME_MCU_C99_MATMUL_H_

#include "runtime/mcu/c99/walk.h"

// For each place of a walk, the product of matrices [m, k] and [k, n], whose elements lie so many
// elements apart; `low` is the least result.
typedef struct {
  ashlar_walk walk;
  ashlar_strides a, b;  // between matrices
  int32_t m, k, n;
  int32_t a_row, a_column, b_row, b_column;
  float low;
} ashlar_matmul_shape;

// Bias: one for each column; null: none. `dst` is row-major.
void ashlar_matmul(const ashlar_matmul_shape* shape, const void* a, const void* b, const void* bias,
                   void* dst);

#endif  // ASHLAR_RUNTIME_MCU_C99_MATMUL_H_
