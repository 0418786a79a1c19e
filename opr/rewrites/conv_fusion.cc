#include "opr/rewrites/conv_fusion.h"

#include <algorithm>
#include <functional>

#include "opr/base/operands.h"
#include "opr/base/per_channel.h"
#include "opr/elemwise_multi_type.h"

namespace ashlar {
namespace {

// Multiplies each output channel's weights, which are contiguous, dense or in groups, by its scale.
HostTensor ScaledFilter(const HostTensor& filter, absl::Span<const double> scales) {
  HostTensor scaled = HostTensor::Zeros(DType::kFloat32, filter.shape());
  const int64_t weights = filter.num_elements() / static_cast<int64_t>(scales.size());
  const float* from = filter.data<float>().data();
  float* to = scaled.mutable_data<float>().data();
  for (double scale : scales) {
    for (int64_t i = 0; i < weights; ++i) *to++ = static_cast<float>(*from++ * scale);
  }
  return scaled;
}

Operand BiasConstant(absl::Span<const double> values) {
  const int64_t channels = static_cast<int64_t>(values.size());
  HostTensor bias = HostTensor::Zeros(DType::kFloat32, Shape{1, channels, 1, 1});
  std::copy(values.begin(), values.end(), bias.mutable_data<float>().begin());
  return ConstantOperand(std::move(bias));
}

// Returns the values of the bias, zeros if there is none; nullopt if they are not known.
std::optional<std::vector<double>> BiasOf(absl::Span<const InputInfo> inputs, int64_t channels) {
  if (inputs.size() <= ConvBiasInputs::kBias) return std::vector<double>(channels, 0.0);
  return PerChannel(inputs[ConvBiasInputs::kBias], channels);
}

// Returns the addends of the convolution: the bias, or zeros, and z if there is one.
std::vector<Operand> Addends(absl::Span<const InputInfo> inputs, int64_t channels) {
  if (inputs.size() <= ConvBiasInputs::kBias)
    return {BiasConstant(std::vector<double>(channels, 0.0))};
  if (inputs.size() <= ConvBiasInputs::kZ) return {FromProducer(ConvBiasInputs::kBias)};
  return {FromProducer(ConvBiasInputs::kBias), FromProducer(ConvBiasInputs::kZ)};
}

// The same with input `index` of the consumer added: in the bias, or as z; nullopt if it fits
// neither.
std::optional<std::vector<Operand>> AddendsWith(absl::Span<const InputInfo> inputs,
                                                const Shape& output, const InputInfo& addend,
                                                int index) {
  std::vector<Operand> addends = Addends(inputs, output[1]);
  const std::optional<std::vector<double>> values = PerChannel(addend, output[1]);
  std::optional<std::vector<double>> bias = BiasOf(inputs, output[1]);
  if (values && bias) {
    std::transform(bias->begin(), bias->end(), values->begin(), bias->begin(), std::plus<>());
    addends[0] = BiasConstant(*bias);
    return addends;
  }
  if (addends.size() > 1 || addend.type.shape != output) return std::nullopt;
  addends.push_back(FromConsumer(index));
  return addends;
}

}  // namespace

std::optional<Replacement> FuseConsumer(const ConvBiasParam& param,
                                        absl::Span<const InputInfo> inputs,
                                        const Consumer& consumer) {
  const std::optional<ActivationTail> tail = AsActivationTail(consumer.op);
  if (!tail || !param.output.absent() || param.nonlineMode != ScalarFunction::kIdentity ||
      inputs[ConvBiasInputs::kFilter].type.dtype != DType::kFloat32) {
    return std::nullopt;
  }
  const absl::StatusOr<ConvolutionGeometry> geometry = InferConvolution(
      param, inputs[ConvBiasInputs::kSrc].type, inputs[ConvBiasInputs::kFilter].type);
  if (!geometry.ok()) return std::nullopt;
  const Shape output = geometry->output();
  // If sums must stay exact, only a bias may join the sum.
  const bool exact = param.compute_mode == ComputeMode::kFloat32;
  if (exact && tail->adds && !PerChannel(consumer.inputs[1 - consumer.via], output[1])) {
    return std::nullopt;
  }
  const std::optional<std::vector<Operand>> addends =
      tail->adds ? AddendsWith(inputs, output, consumer.inputs[1 - consumer.via], 1 - consumer.via)
                 : Addends(inputs, output[1]);
  if (!addends) return std::nullopt;

  Replacement result;
  result.operands = {FromProducer(ConvBiasInputs::kSrc), FromProducer(ConvBiasInputs::kFilter)};
  result.operands.insert(result.operands.end(), addends->begin(), addends->end());
  ConvBiasParam fused = param;
  fused.nonlineMode = tail->activation.mode;
  fused.parameters = tail->activation.parameters;
  result.op = std::make_shared<const ConvBiasForward>(fused);
  return result;
}

std::optional<Replacement> FoldAffine(const ConvBiasParam& param,
                                      absl::Span<const InputInfo> inputs,
                                      const ChannelAffine& affine) {
  const int64_t channels = static_cast<int64_t>(affine.scale.size());
  const HostTensor* filter = inputs[ConvBiasInputs::kFilter].value;
  std::optional<std::vector<double>> bias = BiasOf(inputs, channels);
  if (filter == nullptr || !filter->has_data() || filter->dtype() != DType::kFloat32 || !bias ||
      inputs.size() > ConvBiasInputs::kZ || param.nonlineMode != ScalarFunction::kIdentity) {
    return std::nullopt;
  }
  const bool scales = std::any_of(affine.scale.begin(), affine.scale.end(),
                                  [](double scale) { return scale != 1; });
  if (scales && param.compute_mode == ComputeMode::kFloat32) return std::nullopt;
  for (int64_t c = 0; c < channels; ++c) {
    (*bias)[c] = (*bias)[c] * affine.scale[c] + affine.shift[c];
  }
  Replacement result;
  result.op = std::make_shared<const ConvBiasForward>(param);
  result.operands = {FromProducer(ConvBiasInputs::kSrc), FromProducer(ConvBiasInputs::kFilter),
                     BiasConstant(*bias)};
  if (scales) {
    // Scaled when they are packed, so that planning needs no copy of them.
    result.operands[ConvBiasInputs::kFilter] = ConstantOperand(
        HostTensor::Deferred(*filter, [scales = affine.scale](const HostTensor& source) {
          return ScaledFilter(source, scales);
        }));
  }
  return result;
}

std::optional<Replacement> FuseQuantizedSum(const ConvBiasParam& param,
                                            absl::Span<const InputInfo> inputs,
                                            const Consumer& consumer) {
  const auto* sum = dynamic_cast<const ElemwiseMultiType*>(&consumer.op);
  if (sum == nullptr || param.output.absent() || !param.addend.absent() ||
      param.nonlineMode != ScalarFunction::kIdentity) {
    return std::nullopt;
  }
  const absl::StatusOr<ConvolutionGeometry> geometry = InferConvolution(
      param, inputs[ConvBiasForward::kSrc].type, inputs[ConvBiasForward::kFilter].type);
  if (!geometry.ok() || (geometry->in_channels == 1 && geometry->out_channels == 1)) {
    return std::nullopt;
  }
  if (consumer.inputs.size() != 2) return std::nullopt;
  const TensorType& z = consumer.inputs[1 - consumer.via].type;
  if (!IsQuantizedTo8Bits(z.dtype) || z.shape != geometry->output()) return std::nullopt;
  if (!sum->param().adds()) return std::nullopt;
  ConvBiasParam fused = param;
  fused.addend = param.output;
  fused.output = sum->param().output;
  fused.fixed_point_sum = sum->param().fixed_point_sum;
  if (sum->param().rectifies()) fused.nonlineMode = ScalarFunction::kRelu;
  Replacement result = {std::make_shared<const ConvBiasForward>(fused),
                        OwnOperands(ConvBiasInputs::kZ)};
  result.operands.push_back(FromConsumer(1 - consumer.via));
  return result;
}

}  // namespace ashlar
