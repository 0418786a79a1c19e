// ConvolutionForward: 2-D convolution without bias.
#ifndef ASHLAR_OPR_CONVOLUTION_H_
#define ASHLAR_OPR_CONVOLUTION_H_

#include "opr/convolution_operator.h"

namespace ashlar {

// Inputs: src, filter. Output: [N, oc, oh, ow].
class ConvolutionForward final
    : public OperatorWithParam<ConvolutionParam, ConvolutionOperator<ConvolutionForward>> {
 public:
  ASHLAR_OPERATOR("ConvolutionForward", "conv")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONVOLUTION_H_
