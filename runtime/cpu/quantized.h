// Kernels on quantised images, computed with integers.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_H_

#include "opr/conv_bias.h"
#include "opr/pooling.h"
#include "opr/resize_bytes.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Implements opr/quantized_conv.h. Images may have any format and strides; register tiles read
// NHWC. Sums are never stored in memory.
absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvBiasForward& op,
                                                       const KernelRequest& request);

// Implements opr/quantized_pooling.h, for images of any format.
absl::StatusOr<KernelList> QuantizedPoolingKernels(const PoolingForward& op,
                                                   const KernelRequest& request);

// ResizeBytes, for images of any format.
absl::StatusOr<KernelList> QuantizedResizeKernels(const ResizeBytes& op,
                                                  const KernelRequest& request);

// TypeCvt between Float32 and 8-bit integers with one scale. The source may have any format, the
// target any that is not blocked.
bool IsQuantizedConversion(const TensorType& from, const TensorType& to);
KernelList QuantizedConversionKernels(const KernelRequest& request);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_H_
