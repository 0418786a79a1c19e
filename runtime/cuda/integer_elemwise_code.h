// Functions of two integer tensors, one thread per element. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_INTEGER_ELEMWISE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_INTEGER_ELEMWISE_CODE_H_

#include "opr/base/integer_functions.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

// The parameters of out = function(a, b). Operand 0 of the walk is the output, which has the dtype
// of a.
struct IntegerElemwiseParams {
  Walk<3> walk;
  IntegerFunction function = IntegerFunction::kAnd;
  Scalar dtype_a = Scalar::kInt64, dtype_b = Scalar::kInt64;
  int bits = 64;  // of an element of a
  const void *a = nullptr, *b = nullptr;
  void* out = nullptr;
};
LaunchError Launch(const IntegerElemwiseParams& params, void* stream);

ASHLAR_HD void IntegerElemwiseAt(const IntegerElemwiseParams& p, int64_t number) {
  int64_t at[3];
  Locate(p.walk, number, at);
  const int64_t a = LoadAs<WrappingInt>(p.dtype_a, p.a, at[1]).value;
  const int64_t b = LoadAs<WrappingInt>(p.dtype_b, p.b, at[2]).value;
  StoreAs(p.dtype_a, p.out, at[0], WrappingInt(Apply(p.function, a, b, p.bits)));
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_INTEGER_ELEMWISE_CODE_H_
