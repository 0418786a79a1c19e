// Fuses operators into a convolution: bias, residual, activation, and scales into its weights.
// ConvolutionForward is treated as a ConvBiasForward without bias and without any step after the
// sum.
#ifndef ASHLAR_OPR_REWRITES_CONV_FUSION_H_
#define ASHLAR_OPR_REWRITES_CONV_FUSION_H_

#include "opr/conv_bias.h"

namespace ashlar {

// RewriteRules::Absorb. The consumer is an Elemwise: it adds a constant per channel, adds a tensor
// of the output's shape (once), or applies an activation to the sum. Float32 only. `inputs` has no
// bias if the convolution has none.
std::optional<Replacement> FuseConsumer(const ConvBiasParam& param,
                                        absl::Span<const InputInfo> inputs,
                                        const Consumer& consumer);

// RewriteRules::AbsorbAffine: puts the scale into a new filter, and scale and shift into the bias.
// Filter and bias must be constant and Float32, and the convolution's sum must be its output.
std::optional<Replacement> FoldAffine(const ConvBiasParam& param,
                                      absl::Span<const InputInfo> inputs,
                                      const ChannelAffine& affine);

// RewriteRules::AbsorbQuantized for an ElemwiseMultiType that adds z, unless the convolution is
// depthwise.
std::optional<Replacement> FuseQuantizedSum(const ConvBiasParam& param,
                                            absl::Span<const InputInfo> inputs,
                                            const Consumer& consumer);

}  // namespace ashlar

#endif  // ASHLAR_OPR_REWRITES_CONV_FUSION_H_
