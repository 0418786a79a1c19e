#include "opr/conv_bias.h"

#include "graph/graph_builder.h"
#include "opr/base/aliasing.h"
#include "opr/base/checks.h"
#include "opr/base/strided.h"
#include "opr/conv_reference.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/quantized_conv.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ConvBiasForward)

namespace {

// Returns the image clamped to the convolution's bounds for it.
HostTensor ClampedSource(const ConvBiasParam& param, const HostTensor& src) {
  if (!param.clamps_src()) return src;
  const ElemwiseParam clamp = {ScalarFunction::kClamp, {param.src_low, param.src_high}};
  HostTensor clamped = HostTensor::Zeros(src.dtype(), src.shape());
  for (int64_t i = 0; i < src.num_elements(); ++i) clamped.Set(i, Apply(clamp, src.At(i)));
  return clamped;
}

// Returns whether the convolution is depthwise with one output per channel.
bool HasWindowForEachChannel(const ConvBiasParam& param, absl::Span<const InputInfo> inputs) {
  const absl::StatusOr<ConvolutionGeometry> geometry = InferConvolution(
      param, inputs[ConvBiasForward::kSrc].type, inputs[ConvBiasForward::kFilter].type);
  return geometry.ok() && geometry->in_channels == 1 && geometry->out_channels == 1;
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> ConvBiasForward::Infer(
    absl::Span<const InputInfo> inputs) const {
  if (inputs.size() != 4) ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  ASHLAR_ASSIGN_OR_RETURN(ConvolutionGeometry geometry,
                          InferConvolution(param(), inputs[kSrc].type, inputs[kFilter].type));
  const bool bounds = param().src_low != 0 || param().src_high != 0;
  if (bounds && (!param().clamps_src() || IsQuantized(inputs[kSrc].type.dtype))) {
    return absl::InvalidArgumentError(absl::StrCat("src_low is ", param().src_low,
                                                   ", expected less than src_high (",
                                                   param().src_high, "), and floats"));
  }
  if (IsQuantized(inputs[kSrc].type.dtype)) return InferQuantizedConv(param(), geometry, inputs);
  if (!param().output.absent() || !param().addend.absent()) {
    return absl::InvalidArgumentError(absl::StrCat(
        param().output.absent() ? "addend_scale" : "scale", " is for quantised images"));
  }
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
  if (IsQuantized(inputs[kSrc].dtype())) return EvaluateQuantizedConv(param(), inputs);
  ASHLAR_ASSIGN_OR_RETURN(ConvolutionGeometry geometry,
                          InferConvolution(param(), {inputs[kSrc].dtype(), inputs[kSrc].shape()},
                                           {inputs[kFilter].dtype(), inputs[kFilter].shape()}));
  HostTensor output = HostTensor::Zeros(inputs[kSrc].dtype(), geometry.output());
  const ElemwiseParam activation = ActivationParam(param());
  int64_t done = 0;
  std::vector<double> row;
  ConvolvePlanes(param(), geometry, ClampedSource(param(), inputs[kSrc]), inputs[kFilter],
                 [&](int64_t channel, absl::Span<const double> plane) {
                   const double bias = inputs[kBias].At(channel);
                   row.assign(plane.begin(), plane.end());
                   for (size_t i = 0; i < row.size(); ++i) {
                     double sum = row[i] + bias;
                     if (inputs.size() > kZ) sum += inputs[kZ].At(done + static_cast<int64_t>(i));
                     row[i] = Apply(activation, sum);
                   }
                   StoreRow(row, done, output);
                   done += static_cast<int64_t>(row.size());
                 });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t ConvBiasForward::Computation(const Site& site) const {
  const int64_t convolution =
      ConvolutionForward(param()).Computation({site.inputs.first(kBias), site.outputs});
  // MegEngine counts the bias only if there is no z.
  if (site.inputs.size() != 3) return convolution;
  int64_t sum;
  const bool overflow =
      __builtin_add_overflow(convolution, site.outputs[0].shape.num_elements(), &sum);
  return overflow ? convolution : sum;
}

Aliasing ConvBiasForward::aliasing(const Site& site) const {
  const bool bytes = IsQuantized(site.outputs[0].dtype) && !JoinsSums(site.inputs);
  return bytes ? OverwritesBytes(kZ, site) : OverwritesInput(kZ, site);
}

std::optional<Unclamped> ConvBiasForward::WithoutClamp(absl::Span<const InputInfo> inputs) const {
  const auto [low, high] = param().parameters;
  if (param().nonlineMode != ScalarFunction::kClamp || !(low < high) ||
      IsQuantized(inputs[kSrc].type.dtype) || HasWindowForEachChannel(param(), inputs)) {
    return std::nullopt;
  }
  ConvBiasParam without = param();
  without.nonlineMode = ScalarFunction::kIdentity;
  without.parameters = {};
  return Unclamped{std::make_shared<const ConvBiasForward>(std::move(without)), low, high};
}

std::shared_ptr<const Operator> ConvBiasForward::ClampingInput(absl::Span<const InputInfo> inputs,
                                                               int input, double low,
                                                               double high) const {
  if (input != kSrc || param().clamps_src() || IsQuantized(inputs[kSrc].type.dtype) ||
      inputs[kFilter].value == nullptr || !HasWindowForEachChannel(param(), inputs)) {
    return nullptr;
  }
  ConvBiasParam clamping = param();
  clamping.src_low = low;
  clamping.src_high = high;
  return std::make_shared<const ConvBiasForward>(std::move(clamping));
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

}  // namespace ashlar
