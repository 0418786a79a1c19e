#include "opr/conv_bias.h"

#include "opr/checks.h"
#include "opr/conv_fusion.h"
#include "opr/conv_reference.h"
#include "opr/elemwise.h"
#include "opr/regions.h"

namespace ashlar {

absl::StatusOr<std::vector<TensorType>> ConvBiasForward::Infer(
    absl::Span<const InputInfo> inputs) const {
  if (inputs.size() != 4) ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  ASHLAR_ASSIGN_OR_RETURN(ConvolutionGeometry geometry,
                          InferConvolution(param(), inputs[kSrc].type, inputs[kFilter].type));
  const Shape output = geometry.output();
  const DType dtype = inputs[kSrc].type.dtype;
  ASHLAR_RETURN_IF_ERROR(CheckDType("bias", inputs[kBias].type, dtype));
  if (const Shape expected{1, output[1], 1, 1}; inputs[kBias].type.shape != expected) {
    return absl::InvalidArgumentError(absl::StrCat("bias is ", inputs[kBias].type.ToString(),
                                                   ", expected ", expected.ToString()));
  }
  if (inputs.size() > kZ) {
    ASHLAR_RETURN_IF_ERROR(CheckDType("z", inputs[kZ].type, dtype));
    if (inputs[kZ].type.shape != output) {
      return absl::InvalidArgumentError(
          absl::StrCat("z is ", inputs[kZ].type.ToString(), ", expected ", output.ToString()));
    }
  }
  if (const ScalarRow& row = RowOf(param().nonlineMode); !row.activation) {
    return absl::InvalidArgumentError(
        absl::StrCat("nonlineMode is ", row.name, ", which does not follow a convolution"));
  }
  const auto [lo, hi] = param().parameters;
  if (param().nonlineMode == ScalarFunction::kClamp && !(lo <= hi)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lo is ", lo, ", expected at most hi (", hi, ")"));
  }
  return std::vector<TensorType>{{dtype, output}};
}

absl::StatusOr<std::vector<HostTensor>> ConvBiasForward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  if (inputs[kSrc].dtype() != DType::kFloat32) return EvaluateRounded(*this, inputs);
  ASHLAR_ASSIGN_OR_RETURN(ConvolutionGeometry geometry,
                          InferConvolution(param(), {inputs[kSrc].dtype(), inputs[kSrc].shape()},
                                           {inputs[kFilter].dtype(), inputs[kFilter].shape()}));
  HostTensor output = HostTensor::Zeros(DType::kFloat32, geometry.output());
  const absl::Span<const float> bias = inputs[kBias].data<float>();
  const float* z = inputs.size() > kZ ? inputs[kZ].data<float>().data() : nullptr;
  const ElemwiseParam activation = ActivationParam(param());
  float* out = output.mutable_data<float>().data();
  ConvolvePlanes(param(), geometry, inputs[kSrc], inputs[kFilter],
                 [&](int64_t channel, absl::Span<const double> plane) {
                   for (double sum : plane) {
                     sum += bias[channel];
                     if (z != nullptr) sum += *z++;
                     *out++ = static_cast<float>(Apply(activation, sum));
                   }
                 });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t ConvBiasForward::Computation(absl::Span<const TensorType> inputs,
                                     absl::Span<const TensorType> outputs) const {
  const int64_t convolution = ConvolutionForward(param()).Computation(inputs.first(kBias), outputs);
  // MegEngine counts the bias only where there is no z.
  if (inputs.size() != 3) return convolution;
  int64_t sum;
  const bool overflow = __builtin_add_overflow(convolution, outputs[0].shape.num_elements(), &sum);
  return overflow ? convolution : sum;
}

std::vector<int> ConvBiasForward::WritableForward(absl::Span<const TensorType> inputs,
                                                  absl::Span<const TensorType> outputs) const {
  if (inputs.size() > kZ && inputs[kZ] == outputs[0]) return {kZ};
  return {};
}

std::optional<Replacement> ConvBiasForward::Absorb(
    const Operator& consumer, int via, absl::Span<const InputInfo> inputs,
    absl::Span<const InputInfo> consumer_inputs) const {
  return FuseConsumer(param(), inputs, consumer, via, consumer_inputs);
}

std::optional<Replacement> ConvBiasForward::AbsorbAffine(const ChannelAffine& affine,
                                                         absl::Span<const InputInfo> inputs) const {
  return FoldAffine(param(), inputs, affine);
}

std::optional<std::vector<Region>> ConvBiasForward::InputRegions(
    const Region& output, absl::Span<const InputInfo> inputs,
    absl::Span<const TensorType> outputs) const {
  std::optional<std::vector<Region>> regions =
      ConvolutionForward(param()).InputRegions(output, inputs.first(kBias), outputs);
  if (!regions) return std::nullopt;
  regions->push_back(WholeRegion(inputs[kBias].type.shape));
  if (inputs.size() > kZ) regions->push_back(output);
  return regions;
}

std::optional<Region> ConvBiasForward::OutputRegion(int input, const Region& region,
                                                    absl::Span<const InputInfo> inputs,
                                                    absl::Span<const TensorType> outputs) const {
  if (input == kZ) return region;
  return ConvolutionForward(param()).OutputRegion(input, region, inputs, outputs);
}

std::optional<Replacement> ConvBiasForward::AtRegion(
    const Region& output, absl::Span<const Region> given, absl::Span<const InputInfo> inputs,
    absl::Span<const TensorType> /*outputs*/) const {
  const absl::StatusOr<ConvolutionGeometry> geometry =
      InferConvolution(param(), inputs[kSrc].type, inputs[kFilter].type);
  if (!geometry.ok()) return std::nullopt;
  ConvBiasParam at = param();
  PadForRegion(output, given[kSrc], geometry->h, geometry->w, at);
  return Replacement{std::make_shared<const ConvBiasForward>(at), OwnOperands(inputs.size())};
}

}  // namespace ashlar
