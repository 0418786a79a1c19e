#include "opr/conv_bias.h"

#include "graph/graph_builder.h"
#include "opr/aliasing.h"
#include "opr/checks.h"
#include "opr/conv_fusion.h"
#include "opr/conv_reference.h"
#include "opr/elemwise.h"
#include "opr/gradient.h"
#include "opr/quantized_conv.h"
#include "opr/quantized_weights.h"
#include "opr/scalar_gradient.h"
#include "opr/strided.h"

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
  return IsQuantized(site.outputs[0].dtype) ? OverwritesBytes(kZ, site) : OverwritesInput(kZ, site);
}

std::optional<Replacement> ConvBiasForward::Absorb(absl::Span<const InputInfo> inputs,
                                                   const Consumer& consumer) const {
  return FuseConsumer(param(), inputs, consumer);
}

std::optional<Replacement> ConvBiasForward::AbsorbQuantized(absl::Span<const InputInfo> inputs,
                                                            const Consumer& consumer) const {
  return FuseQuantizedSum(param(), inputs, consumer);
}

std::optional<Replacement> ConvBiasForward::AbsorbAffine(absl::Span<const InputInfo> inputs,
                                                         const ChannelAffine& affine) const {
  return FoldAffine(param(), inputs, affine);
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

QuantizationRule ConvBiasForward::quantization_rule(const Site& site) const {
  return QuantizationRuleOf(param(), site.inputs);
}

absl::StatusOr<int> ConvBiasForward::MakeQuantized(GraphBuilder& builder,
                                                   absl::Span<const int> inputs,
                                                   const QuantizationChoice& choice) const {
  return QuantizeConvolution(builder, param(), inputs, choice);
}

std::vector<double> ConvBiasForward::ChannelShares(absl::Span<const InputInfo> inputs) const {
  return ChannelSharesOf(param(), inputs);
}

std::optional<Replacement> ConvBiasForward::AbsorbInputScales(
    absl::Span<const InputInfo> inputs, absl::Span<const double> scales) const {
  return AbsorbInputScalesInto(std::make_shared<const ConvBiasForward>(param()), param(), inputs,
                               scales);
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

// If an activation's gradient depends on its input, the input is recomputed.
absl::Status ConvBiasForward::Gradient(GradientContext& context) const {
  if (param().clamps_src()) return absl::OkStatus();  // set for inference only, not for training
  Gradients g(context);
  std::optional<int> sums;
  const auto var = [&](char name) {
    if (name == 'g') return g.of();
    if (name == 'y') return g.output();
    if (!sums) {
      const std::vector<int> inputs(context.inputs().begin(), context.inputs().end());
      sums = g.Add<ConvBiasForward>({static_cast<const ConvolutionParam&>(param())}, inputs);
    }
    return *sums;
  };
  ASHLAR_ASSIGN_OR_RETURN(const std::optional<int> diff,
                          ScalarGradient(g, ActivationParam(param()), 0, var));
  if (!diff) return absl::OkStatus();
  if (g.num_inputs() > kZ) g.Set(kZ, *diff);
  g.Set(kBias, *diff);
  ASHLAR_RETURN_IF_ERROR(ConvolutionGradient(g, param(), *diff));
  return std::move(g).Finish();
}

}  // namespace ashlar
