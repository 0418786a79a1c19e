// Operators that a convolution takes in: bias, residual, activation, and scales into its weights.
// ConvolutionForward is seen as a ConvBiasForward that has no bias and does nothing after the sum.
#ifndef ASHLAR_OPR_CONV_FUSION_H_
#define ASHLAR_OPR_CONV_FUSION_H_

#include "opr/conv_bias.h"
#include "opr/elemwise.h"

namespace ashlar {

// nonlineMode as the Elemwise that it stands for.
inline ElemwiseParam ActivationParam(const ConvBiasParam& param) {
  return {param.nonlineMode, param.parameters};
}

// RewriteRules::Absorb: an Elemwise that adds a constant per channel, adds a tensor of the output's
// shape (once), or applies an activation to the sum. Float32 only. `inputs` has no bias where
// the convolution has none.
std::optional<Replacement> FuseConsumer(const ConvBiasParam& param,
                                        absl::Span<const InputInfo> inputs,
                                        const Consumer& consumer);

// RewriteRules::AbsorbAffine: scale into a new filter, scale and shift into the bias. Filter and
// bias must be constant and Float32, and nothing may stand between the sum and the output.
std::optional<Replacement> FoldAffine(const ConvBiasParam& param,
                                      absl::Span<const InputInfo> inputs,
                                      const ChannelAffine& affine);

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_FUSION_H_
