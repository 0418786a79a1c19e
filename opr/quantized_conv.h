// ConvBiasForward of quantised images: integers are summed exactly, and rounded once to those of
// the output, as ONNX Runtime's and XNNPACK's integer kernels do.
#ifndef ASHLAR_OPR_QUANTIZED_CONV_H_
#define ASHLAR_OPR_QUANTIZED_CONV_H_

#include <optional>
#include <vector>

#include "opr/conv_bias.h"
#include "opr/elemwise_multi_type.h"

namespace ashlar {

// y = clamp(rint(float(sum) * factor[c]) + zero point of y): sum is that of (x - zero point) *
// weight over the taps inside the image, and of the bias; factor is fl(fl(scale of x * scale of
// the weights of c) / scale of y), in Float32. Half to even.
struct Requantization {
  std::vector<float> factors;  // by output channel
  int32_t source_zero_point = 0;
  int32_t zero_point = 0;
  int32_t least = 0, most = 0;  // of the output's integers, after the activation
};
Requantization RequantizationOf(const ConvBiasParam& param, const Quantization& src,
                                const Quantization& filter, const TensorType& output,
                                int64_t channels);

// fl(scale of src * scale of the filter), by output channel or one for all: that of the bias.
std::vector<float> SumScales(const Quantization& src, const Quantization& filter);

// Where z is added, the sums of products are rounded to `addend` first: the convolution by itself,
// and the sum of what it makes and z, which has its activation and makes the output.
ConvBiasParam WithoutSum(const ConvBiasParam& param);
ElemwiseMultiTypeParam SumOf(const ConvBiasParam& param);

// Inputs: src of 8 bits, filter QuantizedS8 of zero point 0 with one scale or one for each output
// channel, bias QuantizedS32 of SumScales; where there is a type `addend`, z of 8 bits. The
// activation is none, RELU or, without z, CLAMP, the output's type that of the parameters.
absl::StatusOr<std::vector<TensorType>> InferQuantizedConv(const ConvBiasParam& param,
                                                           const ConvolutionGeometry& geometry,
                                                           absl::Span<const InputInfo> inputs);
absl::StatusOr<std::vector<HostTensor>> EvaluateQuantizedConv(const ConvBiasParam& param,
                                                              absl::Span<const HostTensor> inputs);

// RewriteRules::AbsorbQuantized: an ElemwiseMultiType that adds z, unless each channel has a filter
// of its own.
std::optional<Replacement> FuseQuantizedSum(const ConvBiasParam& param,
                                            absl::Span<const InputInfo> inputs,
                                            const Consumer& consumer);

}  // namespace ashlar

#endif  // ASHLAR_OPR_QUANTIZED_CONV_H_
