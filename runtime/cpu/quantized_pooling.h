// PoolingForward of quantised images: opr/quantized_pooling.h says what it computes.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_POOLING_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_POOLING_H_

#include "opr/pooling.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Images in any format.
absl::StatusOr<KernelList> QuantizedPoolingKernels(const PoolingForward& op,
                                                   const KernelRequest& request);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_POOLING_H_
