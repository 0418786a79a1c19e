// How long a kernel takes on the device.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_MEASURE_KERNEL_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_MEASURE_KERNEL_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel.h"

namespace ashlar::cuda {

// Microseconds of a run, the median of several, on tensors of its own in the current device's
// memory. Packed inputs must have the bytes of their types.
absl::StatusOr<double> MeasureKernel(const Kernel& kernel, absl::Span<const TensorType> inputs,
                                     const TensorType& output);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_MEASURE_KERNEL_H_
