// Kernels of 8 bits of operators that have others for floats.
#ifndef ASHLAR_RUNTIME_CUDA_QUANTIZED_H_
#define ASHLAR_RUNTIME_CUDA_QUANTIZED_H_

#include <vector>

#include "opr/pooling.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

inline bool IsByteType(const TensorType& type) {
  return IsQuantized(type.dtype) && SizeOf(type.dtype) == 1;
}

// The dtypes, and those of 8 bits.
inline std::vector<DType> WithBytes(std::vector<DType> dtypes) {
  dtypes.insert(dtypes.end(), {DType::kQuantized8Asymm, DType::kQuantizedS8});
  return dtypes;
}

// Between Float32 and 8 bits; Unimplemented for other dtypes, and for a scale by channel.
absl::StatusOr<KernelList> QuantizedConversionKernels(const KernelRequest& request);

// `src` and `dst` are of 8 bits.
absl::StatusOr<KernelList> QuantizedPoolingKernels(const PoolingForward& op,
                                                   const KernelRequest& request);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_QUANTIZED_H_
