// Operators on quantised images, by integers.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_H_

#include "opr/conv_bias.h"
#include "opr/pooling.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// As opr/quantized_conv.h says. Images of any format in any place; tiles of registers read NHWC. No
// sums in memory.
absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvBiasForward& op,
                                                       const KernelRequest& request);

// As opr/quantized_pooling.h says. Images in any format.
absl::StatusOr<KernelList> QuantizedPoolingKernels(const PoolingForward& op,
                                                   const KernelRequest& request);

// TypeCvt between Float32 and integers of 8 bits and one scale, from any format to one that is not
// blocked.
bool IsQuantizedConversion(const TensorType& from, const TensorType& to);
KernelList QuantizedConversionKernels(const KernelRequest& request);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_H_
