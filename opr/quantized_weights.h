// Convolutions and products of floats as convolutions of 8 bits: weights are rounded to integers
// from -127 to 127, by output channel, and biases to those of the sums.
#ifndef ASHLAR_OPR_QUANTIZED_WEIGHTS_H_
#define ASHLAR_OPR_QUANTIZED_WEIGHTS_H_

#include <vector>

#include "graph/quantization_rules.h"
#include "opr/conv_bias.h"
#include "opr/matrix_mul.h"

namespace ashlar {

// QuantizationRules of a convolution of these inputs: src, filter and perhaps bias.
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

// The same of a product whose second operand is a known matrix, with a bias by column or without.
QuantizationRule QuantizationRuleOf(const MatrixMulParam& param,
                                    absl::Span<const InputInfo> inputs);
absl::StatusOr<int> QuantizeProduct(GraphBuilder& builder, const MatrixMulParam& param, bool relu,
                                    absl::Span<const int> inputs, const QuantizationChoice& choice);

// A filter and a bias, in floats, as a convolution of 8 bits reads them. A scale is larger than its
// weights need where 32 bits would not hold the bias.
struct QuantizedWeights {
  HostTensor filter;  // QuantizedS8
  HostTensor bias;    // QuantizedS32 {1, channels, 1, 1}
};
absl::StatusOr<QuantizedWeights> QuantizeWeights(const HostTensor& filter,
                                                 absl::Span<const double> bias,
                                                 const Quantization& src, bool by_channel);

}  // namespace ashlar

#endif  // ASHLAR_OPR_QUANTIZED_WEIGHTS_H_
