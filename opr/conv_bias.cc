#include "opr/conv_bias.h"

#include "opr/aliasing.h"
#include "opr/checks.h"
#include "opr/conv_fusion.h"
#include "opr/conv_reference.h"
#include "opr/elemwise.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ConvBiasForward)

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

int64_t ConvBiasForward::Computation(const Site& site) const {
  const int64_t convolution =
      ConvolutionForward(param()).Computation({site.inputs.first(kBias), site.outputs});
  // MegEngine counts the bias only where there is no z.
  if (site.inputs.size() != 3) return convolution;
  int64_t sum;
  const bool overflow =
      __builtin_add_overflow(convolution, site.outputs[0].shape.num_elements(), &sum);
  return overflow ? convolution : sum;
}

Aliasing ConvBiasForward::aliasing(const Site& site) const { return OverwritesInput(kZ, site); }

std::optional<Replacement> ConvBiasForward::Absorb(absl::Span<const InputInfo> inputs,
                                                   const Consumer& consumer) const {
  return FuseConsumer(param(), inputs, consumer);
}

std::optional<Replacement> ConvBiasForward::AbsorbAffine(absl::Span<const InputInfo> inputs,
                                                         const ChannelAffine& affine) const {
  return FoldAffine(param(), inputs, affine);
}

std::optional<std::vector<Region>> ConvBiasForward::InputRegions(const Region& output,
                                                                 const Site& site) const {
  std::optional<std::vector<Region>> regions = WindowOperator::InputRegions(output, site);
  if (regions && site.inputs.size() > kZ) (*regions)[kZ] = output;
  return regions;
}

std::optional<Region> ConvBiasForward::OutputRegion(int input, const Region& region,
                                                    const Site& site) const {
  return input == kZ ? region : WindowOperator::OutputRegion(input, region, site);
}

absl::StatusOr<WindowAxes> ConvBiasForward::WindowsOf(absl::Span<const InputInfo> inputs) const {
  return InferConvolution(param(), inputs[kSrc].type, inputs[kFilter].type);
}

}  // namespace ashlar
