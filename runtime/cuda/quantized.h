// 8-bit kernels of operators that also have floating-point kernels.
#ifndef ASHLAR_RUNTIME_CUDA_QUANTIZED_H_
#define ASHLAR_RUNTIME_CUDA_QUANTIZED_H_

#include <vector>

#include "opr/pooling.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// Appends the 8-bit dtypes.
inline std::vector<DType> WithBytes(std::vector<DType> dtypes) {
  dtypes.insert(dtypes.end(), {DType::kQuantized8Asymm, DType::kQuantizedS8});
  return dtypes;
}

// Converts between Float32 and 8 bits. Returns Unimplemented for other dtypes, and for a scale per
// channel.
absl::StatusOr<KernelList> QuantizedConversionKernels(const KernelRequest& request);

// `src` and `dst` have 8 bits.
absl::StatusOr<KernelList> QuantizedPoolingKernels(const PoolingForward& op,
                                                   const KernelRequest& request);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_QUANTIZED_H_
