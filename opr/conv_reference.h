// The reference convolution of host tensors, summed in double; operators evaluate with it.
#ifndef ASHLAR_OPR_CONV_REFERENCE_H_
#define ASHLAR_OPR_CONV_REFERENCE_H_

#include "absl/functional/function_ref.h"
#include "opr/conv_param.h"

namespace ashlar {

// Passes the output's planes one by one, in row-major order: the channel (over all groups) and the
// oh * ow sums.
void ConvolvePlanes(
    const ConvolutionParam& param, const ConvolutionGeometry& geometry, const HostTensor& src,
    const HostTensor& filter,
    absl::FunctionRef<void(int64_t channel, absl::Span<const double> plane)> consume);

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_REFERENCE_H_
