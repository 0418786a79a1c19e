// Functions of two integer tensors, one thread per element. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_INTEGER_ELEMWISE_CODE_H_
#define ASHLAR_RUNTIME_CUDA_INTEGER_ELEMWISE_CODE_H_

#include "opr/base/integer_functions.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/launch.h"

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

ASHLAR_HD int64_t LoadInteger(Scalar dtype, const void* data, int64_t index) {
  switch (dtype) {
    case Scalar::kInt64:
      return static_cast<const int64_t*>(data)[index];
    case Scalar::kInt32:
      return static_cast<const int32_t*>(data)[index];
    case Scalar::kInt8:
      return static_cast<const int8_t*>(data)[index];
    default:
      return static_cast<const uint8_t*>(data)[index];
  }
}

// Drops the upper bits that the dtype lacks.
ASHLAR_HD void StoreInteger(Scalar dtype, void* data, int64_t index, int64_t value) {
  switch (dtype) {
    case Scalar::kInt64:
      static_cast<int64_t*>(data)[index] = value;
      return;
    case Scalar::kInt32:
      static_cast<int32_t*>(data)[index] = static_cast<int32_t>(value);
      return;
    default:
      static_cast<uint8_t*>(data)[index] = static_cast<uint8_t>(value);
      return;
  }
}

ASHLAR_HD void IntegerElemwiseAt(const IntegerElemwiseParams& p, int64_t number) {
  int64_t at[3];
  Locate(p.walk, number, at);
  const int64_t a = LoadInteger(p.dtype_a, p.a, at[1]), b = LoadInteger(p.dtype_b, p.b, at[2]);
  StoreInteger(p.dtype_a, p.out, at[0], Apply(p.function, a, b, p.bits));
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_INTEGER_ELEMWISE_CODE_H_
