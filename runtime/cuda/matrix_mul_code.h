// Matrix products without a library: one thread per element of the product sums a row times a
// column. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_MATRIX_MUL_CODE_H_
#define ASHLAR_RUNTIME_CUDA_MATRIX_MUL_CODE_H_

#include "opr/base/scalar_functions.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

namespace ashlar::cuda {

// The parameters of a batch of products, plus a bias for each column, for requests that the library
// refuses. The batch is walked in elements from matrix to matrix; operand 0 is A, operand 1 is B.
struct MatrixParams {
  Walk<2> batch;
  int64_t m = 0, k = 0, n = 0;
  int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;  // strides in elements
  Scalar dtype = Scalar::kFloat32;
  bool relu = false;
  const void *a = nullptr, *b = nullptr, *bias = nullptr;  // bias: may be null
  void* out = nullptr;
};
LaunchError Launch(const MatrixParams& params, void* stream);

ASHLAR_HD void MatrixAt(const MatrixParams& p, int64_t number) {
  const int64_t column = number % p.n, row = number / p.n % p.m;
  int64_t at[2];
  Locate(p.batch, number / (p.m * p.n), at);
  float sum = 0;
  for (int64_t l = 0; l < p.k; ++l) {
    sum += LoadAs<float>(p.dtype, p.a, at[0] + row * p.a_row + l * p.a_column) *
           LoadAs<float>(p.dtype, p.b, at[1] + l * p.b_row + column * p.b_column);
  }
  if (p.bias != nullptr) sum += LoadAs<float>(p.dtype, p.bias, column);
  StoreAs<float>(p.dtype, p.out, number, p.relu ? formulas::Relu(sum) : sum);
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_MATRIX_MUL_CODE_H_
