// ConvBiasForward of quantised images, by integers: opr/quantized_conv.h says what it computes.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_CONV_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_CONV_H_

#include "opr/conv_bias.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Images of any format in any place; NHWC is what tiles of registers read. No sums in memory.
absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvBiasForward& op,
                                                       const KernelRequest& request);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_CONV_H_
