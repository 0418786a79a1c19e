// ConvBiasForward of quantised images: sums integers exactly and rounds once to the output's
// integers, as the integer kernels of ONNX Runtime and XNNPACK do.
#ifndef ASHLAR_OPR_QUANTIZED_CONV_H_
#define ASHLAR_OPR_QUANTIZED_CONV_H_

#include <optional>
#include <vector>

#include "opr/conv_param.h"
#include "opr/elemwise_multi_type.h"

namespace ashlar {

// y = clamp(rint(float(sum) * factor[c]) + zero point of y). The sum is over (x - zero point) *
// weight for the taps inside the image, plus the bias. The factor is fl(fl(scale of x * scale of
// the weights of c) / scale of y), in Float32. Rounds half to even.
struct Requantization {
  std::vector<float> factors;  // by output channel
  int32_t source_zero_point = 0;
  int32_t zero_point = 0;
  int32_t least = 0, most = 0;  // of the output's integers, after the activation
};
Requantization RequantizationOf(const ConvBiasParam& param, const Quantization& src,
                                const Quantization& filter, const TensorType& output,
                                int64_t channels);

// Returns fl(scale of src * scale of the filter), by output channel or one for all: the scales of
// the bias.
std::vector<float> SumScales(const Quantization& src, const Quantization& filter);

// If z is added, the sums of products are rounded to `addend` first. WithoutSum returns the
// convolution by itself. SumOf returns the addition of its result and z, which has the activation
// and computes the output.
ConvBiasParam WithoutSum(const ConvBiasParam& param);
ElemwiseMultiTypeParam SumOf(const ConvBiasParam& param);

// Returns whether z of a convolution has unfinished sums.
bool JoinsSums(absl::Span<const InputInfo> inputs);

// Inputs: src of 8 bits; filter QuantizedS8 with zero point 0 and one scale, or one per output
// channel; bias QuantizedS32 with SumScales; if there is a type `addend`, z of 8 bits. The
// activation is none, RELU or, without z, CLAMP. The parameters give the output's type.
//
// Without one, the output is the sums themselves, before they are rounded: QuantizedS32 with
// SumScales. Such an output of another convolution may be z, without `addend`: then it counts as a
// part of the sums. So a convolution can be computed in groups of its input's channels or rows,
// with the same bits.
absl::StatusOr<std::vector<TensorType>> InferQuantizedConv(const ConvBiasParam& param,
                                                           const ConvolutionGeometry& geometry,
                                                           absl::Span<const InputInfo> inputs);
absl::StatusOr<std::vector<HostTensor>> EvaluateQuantizedConv(const ConvBiasParam& param,
                                                              absl::Span<const HostTensor> inputs);

}  // namespace ashlar

#endif  // ASHLAR_OPR_QUANTIZED_CONV_H_
