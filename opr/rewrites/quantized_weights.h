// Converts floating-point convolutions and products to 8-bit convolutions. Weights are rounded to
// integers from -127 to 127, per output channel, and biases to the integers of the sums.
#ifndef ASHLAR_OPR_REWRITES_QUANTIZED_WEIGHTS_H_
#define ASHLAR_OPR_REWRITES_QUANTIZED_WEIGHTS_H_

#include <vector>

#include "graph/quantization_rules.h"
#include "opr/conv_bias.h"
#include "opr/matrix_mul.h"

namespace ashlar {

// Implements QuantizationRules for a convolution with these inputs: src, filter and optionally
// bias.
QuantizationRule QuantizationRuleOf(const ConvBiasParam& param, absl::Span<const InputInfo> inputs);
absl::StatusOr<int> QuantizeConvolution(GraphBuilder& builder, const ConvBiasParam& param,
                                        absl::Span<const int> inputs,
                                        const QuantizationChoice& choice);
std::vector<double> ChannelSharesOf(const ConvBiasParam& param, absl::Span<const InputInfo> inputs);
// `op` is the convolution itself.
std::optional<Replacement> AbsorbInputScalesInto(std::shared_ptr<const Operator> op,
                                                 const ConvBiasParam& param,
                                                 absl::Span<const InputInfo> inputs,
                                                 absl::Span<const double> scales);

// The same for a product whose second operand is a known matrix, with or without a bias per column.
QuantizationRule QuantizationRuleOf(const MatrixMulParam& param,
                                    absl::Span<const InputInfo> inputs);
absl::StatusOr<int> QuantizeProduct(GraphBuilder& builder, const MatrixMulParam& param, bool relu,
                                    absl::Span<const int> inputs, const QuantizationChoice& choice);

// A filter and a bias, given in floats, in the form that an 8-bit convolution reads. A scale is
// larger than its weights need if the bias would not fit 32 bits otherwise.
struct QuantizedWeights {
  HostTensor filter;  // QuantizedS8
  HostTensor bias;    // QuantizedS32 {1, channels, 1, 1}
};
absl::StatusOr<QuantizedWeights> QuantizeWeights(const HostTensor& filter,
                                                 absl::Span<const double> bias,
                                                 const Quantization& src, bool by_channel);

}  // namespace ashlar

#endif  // ASHLAR_OPR_REWRITES_QUANTIZED_WEIGHTS_H_
