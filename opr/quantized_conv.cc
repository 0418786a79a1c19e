#include "opr/quantized_conv.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "opr/base/host_value.h"
#include "opr/base/operands.h"
#include "opr/conv_reference.h"

namespace ashlar {
namespace {

// The number of products of 255 and 128 that fit 31 bits.
constexpr int64_t kMostProducts = 65793;

// Returns the type of the sum of z and the convolution's own result.
absl::StatusOr<std::vector<TensorType>> InferSum(const ConvBiasParam& param,
                                                 const ConvolutionGeometry& geometry,
                                                 absl::Span<const InputInfo> inputs) {
  if (param.addend.absent() || inputs.size() <= ConvBiasInputs::kZ) {
    return absl::InvalidArgumentError(absl::StrCat(
        "addend_scale is ", param.addend.scale, ", expected ",
        inputs.size() > ConvBiasInputs::kZ ? "one to which sums are rounded before z is added"
                                           : "none without z"));
  }
  const ScalarFunction mode = param.nonlineMode;
  if (mode != ScalarFunction::kIdentity && mode != ScalarFunction::kRelu) {
    return absl::InvalidArgumentError(
        absl::StrCat("nonlineMode is ", RowOf(mode).name,
                     ", of quantised images and z expected IDENTITY or RELU"));
  }
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<TensorType> addend,
      InferQuantizedConv(WithoutSum(param), geometry, inputs.first(ConvBiasInputs::kZ)));
  const TensorType& z = inputs[ConvBiasInputs::kZ].type;
  if (!IsQuantized(z.dtype) || z.shape != addend[0].shape) {
    return absl::InvalidArgumentError(absl::StrCat("input ", ConvBiasInputs::kZ, " is ",
                                                   z.ToString(), ", expected 8 bits of shape ",
                                                   addend[0].shape.ToString()));
  }
  return ElemwiseMultiType(SumOf(param)).Infer({{{addend[0]}, inputs[ConvBiasInputs::kZ]}});
}

}  // namespace

ConvBiasParam WithoutSum(const ConvBiasParam& param) {
  ConvBiasParam convolution = param;
  convolution.output = std::exchange(convolution.addend, {});
  convolution.nonlineMode = ScalarFunction::kIdentity;
  convolution.fixed_point_sum = false;
  return convolution;
}

ElemwiseMultiTypeParam SumOf(const ConvBiasParam& param) {
  const bool rectified = param.nonlineMode == ScalarFunction::kRelu;
  const ScalarFunction mode = rectified ? ScalarFunction::kFuseAddRelu : ScalarFunction::kAdd;
  return {{mode}, param.output, {}, param.fixed_point_sum};
}

std::vector<float> SumScales(const Quantization& src, const Quantization& filter) {
  std::vector<float> scales;
  for (const float scale : filter.scales()) scales.push_back(src.scale() * scale);
  return scales;
}

Requantization RequantizationOf(const ConvBiasParam& param, const Quantization& src,
                                const Quantization& filter, const TensorType& output,
                                int64_t channels) {
  Requantization result;
  const float scale = output.quantization.scale();
  const std::vector<float> scales = SumScales(src, filter);
  for (int64_t c = 0; c < channels; ++c) {
    result.factors.push_back(scales[static_cast<size_t>(c) % scales.size()] / scale);
  }
  result.source_zero_point = src.zero_point();
  result.zero_point = output.quantization.zero_point();
  result.least = LeastOf(output.dtype);
  result.most = MostOf(output.dtype);
  const auto quantized = [&](double value) {
    return Quantize(static_cast<float>(value) / scale, result.zero_point, LeastOf(output.dtype),
                    MostOf(output.dtype));
  };
  if (param.nonlineMode == ScalarFunction::kRelu) result.least = result.zero_point;
  if (param.nonlineMode == ScalarFunction::kClamp) {
    result.least = quantized(param.parameters[0]);
    result.most = quantized(param.parameters[1]);
  }
  return result;
}

bool JoinsSums(absl::Span<const InputInfo> inputs) {
  return inputs.size() > ConvBiasInputs::kZ &&
         inputs[ConvBiasInputs::kZ].type.dtype == DType::kQuantizedS32;
}

absl::StatusOr<std::vector<TensorType>> InferQuantizedConv(const ConvBiasParam& param,
                                                           const ConvolutionGeometry& geometry,
                                                           absl::Span<const InputInfo> inputs) {
  const bool joins = JoinsSums(inputs) && param.addend.absent();
  if (!joins && (inputs.size() > ConvBiasInputs::kZ || !param.addend.absent()))
    return InferSum(param, geometry, inputs);
  if (param.fixed_point_sum) {
    return absl::InvalidArgumentError("fixed_point_sum is true, expected false without z");
  }
  const TensorType &src = inputs[ConvBiasInputs::kSrc].type,
                   &filter = inputs[ConvBiasInputs::kFilter].type;
  const int64_t channels = geometry.groups * geometry.out_channels;
  const int64_t scales = static_cast<int64_t>(filter.quantization.scales().size());
  if (filter.quantization.zero_point() != 0 || (scales != 1 && scales != channels)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter is ", filter.ToString(), " with ", scales,
        " scales, expected zero point 0 and one scale or one for each of ", channels, " channels"));
  }
  const int64_t products = geometry.in_channels * geometry.h.window * geometry.w.window;
  if (products > kMostProducts) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sums of ", products, " products, which 32 bits may not hold: at most ", kMostProducts));
  }
  ASHLAR_ASSIGN_OR_RETURN(
      const Quantization of_sums,
      Quantization::Make(DType::kQuantizedS32, SumScales(src.quantization, filter.quantization)));
  const TensorType bias = {DType::kQuantizedS32, {1, channels, 1, 1}, Format::kDefault, of_sums};
  if (inputs[ConvBiasInputs::kBias].type != bias) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bias is ", inputs[ConvBiasInputs::kBias].type.ToString(), ", expected ", bias.ToString()));
  }
  const ScalarFunction mode = param.nonlineMode;
  if (mode != ScalarFunction::kIdentity && mode != ScalarFunction::kRelu &&
      mode != ScalarFunction::kClamp) {
    return absl::InvalidArgumentError(absl::StrCat("nonlineMode is ", RowOf(mode).name,
                                                   ", of quantised images expected IDENTITY, RELU "
                                                   "or CLAMP"));
  }
  const TensorType sums = {DType::kQuantizedS32, geometry.output(), Format::kDefault, of_sums};
  if (joins && (inputs[ConvBiasInputs::kZ].type.shape != sums.shape ||
                inputs[ConvBiasInputs::kZ].type.quantization != of_sums)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "z is ", inputs[ConvBiasInputs::kZ].type.ToString(), ", expected ", sums.ToString()));
  }
  if (param.output.absent() && mode == ScalarFunction::kIdentity) {
    return std::vector<TensorType>{sums};
  }
  ASHLAR_ASSIGN_OR_RETURN(TensorType output, QuantizedType(param.output, geometry.output()));
  return std::vector<TensorType>{std::move(output)};
}

absl::StatusOr<std::vector<HostTensor>> EvaluateQuantizedConv(const ConvBiasParam& param,
                                                              absl::Span<const HostTensor> inputs) {
  const std::vector<InputInfo> infos = InfosOf(inputs);
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry geometry,
                          InferConvolution(param, infos[ConvBiasInputs::kSrc].type,
                                           infos[ConvBiasInputs::kFilter].type));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types,
                          InferQuantizedConv(param, geometry, infos));
  const bool joins = JoinsSums(infos);
  if (inputs.size() > ConvBiasInputs::kZ && !joins) {
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<HostTensor> addend,
        EvaluateQuantizedConv(WithoutSum(param), inputs.first(ConvBiasInputs::kZ)));
    return ElemwiseMultiType(SumOf(param)).Evaluate({addend[0], inputs[ConvBiasInputs::kZ]});
  }
  const HostTensor &src = inputs[ConvBiasInputs::kSrc], &filter = inputs[ConvBiasInputs::kFilter];
  const bool unfinished = types[0].dtype == DType::kQuantizedS32;
  Requantization to;
  if (!unfinished) {
    to = RequantizationOf(param, src.quantization(), filter.quantization(), types[0],
                          geometry.groups * geometry.out_channels);
  }
  HostTensor centred = HostTensor::Zeros(DType::kFloat32, src.shape());
  for (int64_t i = 0; i < src.num_elements(); ++i) {
    centred.Set(i, src.At(i) - src.quantization().zero_point());
  }
  HostTensor output = HostTensor::Zeros(types[0]);
  int64_t done = 0;
  ConvolvePlanes(param, geometry, centred, filter,
                 [&](int64_t channel, absl::Span<const double> plane) {
                   const double bias = inputs[ConvBiasInputs::kBias].At(channel);
                   for (double sum : plane) {
                     sum += bias;
                     if (joins) sum += inputs[ConvBiasInputs::kZ].At(done);
                     if (!unfinished) {
                       const float factor = to.factors[static_cast<size_t>(channel)];
                       const float steps = static_cast<float>(sum) * factor;
                       sum = Quantize(steps, to.zero_point, to.least, to.most);
                     }
                     output.Set(done++, sum);
                   }
                 });
  return std::vector<HostTensor>{std::move(output)};
}

}  // namespace ashlar
