#include "opr/convolution.h"

#include <algorithm>

#include "graph/graph_builder.h"
#include "opr/checks.h"
#include "opr/conv_filter.h"
#include "opr/conv_fusion.h"
#include "opr/conv_reference.h"
#include "opr/convolution_backward_data.h"
#include "opr/convolution_backward_filter.h"
#include "opr/gradient.h"
#include "opr/quantized_weights.h"
#include "opr/saturating_product.h"
#include "opr/strided.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ConvolutionForward)

absl::StatusOr<ConvolutionGeometry> InferConvolution(const ConvolutionParam& param,
                                                     const TensorType& src,
                                                     const TensorType& filter) {
  ASHLAR_ASSIGN_OR_RETURN(const FilterShape f,
                          FilterShapeOf(param.sparse, FilterOrder::kOutIn, src, filter));
  ASHLAR_ASSIGN_OR_RETURN(const WindowAxes windows, WindowAxesOf(src.shape, param, {f.h, f.w},
                                                                 {param.dilate_h, param.dilate_w}));
  const ConvolutionGeometry geometry = {windows, src.shape[0], f.groups, f.in_channels,
                                        f.out_channels};
  ASHLAR_RETURN_IF_ERROR(Shape::Make(geometry.output().dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", src, geometry.output()));
  return geometry;
}

absl::StatusOr<std::vector<TensorType>> ConvolutionForward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  ASHLAR_ASSIGN_OR_RETURN(ConvolutionGeometry geometry,
                          InferConvolution(param(), inputs[0].type, inputs[1].type));
  return std::vector<TensorType>{{inputs[0].type.dtype, geometry.output()}};
}

absl::StatusOr<std::vector<HostTensor>> ConvolutionForward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(ConvolutionGeometry geometry,
                          InferConvolution(param(), {inputs[0].dtype(), inputs[0].shape()},
                                           {inputs[1].dtype(), inputs[1].shape()}));
  HostTensor output = HostTensor::Zeros(inputs[0].dtype(), geometry.output());
  int64_t done = 0;
  ConvolvePlanes(param(), geometry, inputs[0], inputs[1],
                 [&](int64_t /*channel*/, absl::Span<const double> plane) {
                   StoreRow(plane, done, output);
                   done += static_cast<int64_t>(plane.size());
                 });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t ConvolutionForward::Computation(const Site& site) const {
  // Per output element and output channel: one multiply and one add for each weight.
  const absl::StatusOr<ConvolutionGeometry> geometry =
      InferConvolution(param(), site.inputs[0].type, site.inputs[1].type);
  if (!geometry.ok()) return 0;
  return SaturatingProduct({site.outputs[0].shape.num_elements(), geometry->h.window,
                            geometry->w.window, geometry->in_channels, 2});
}

std::optional<Replacement> ConvolutionForward::Absorb(absl::Span<const InputInfo> inputs,
                                                      const Consumer& consumer) const {
  return FuseConsumer(ConvBiasParam{param()}, inputs, consumer);
}

std::optional<Replacement> ConvolutionForward::AbsorbAffine(absl::Span<const InputInfo> inputs,
                                                            const ChannelAffine& affine) const {
  return FoldAffine(ConvBiasParam{param()}, inputs, affine);
}

QuantizationRule ConvolutionForward::quantization_rule(const Site& site) const {
  return QuantizationRuleOf(ConvBiasParam{param()}, site.inputs);
}

absl::StatusOr<int> ConvolutionForward::MakeQuantized(GraphBuilder& builder,
                                                      absl::Span<const int> inputs,
                                                      const QuantizationChoice& choice) const {
  return QuantizeConvolution(builder, ConvBiasParam{param()}, inputs, choice);
}

std::vector<double> ConvolutionForward::ChannelShares(absl::Span<const InputInfo> inputs) const {
  return ChannelSharesOf(ConvBiasParam{param()}, inputs);
}

std::optional<Replacement> ConvolutionForward::AbsorbInputScales(
    absl::Span<const InputInfo> inputs, absl::Span<const double> scales) const {
  return AbsorbInputScalesInto(std::make_shared<const ConvolutionForward>(param()),
                               ConvBiasParam{param()}, inputs, scales);
}

absl::StatusOr<WindowAxes> ConvolutionForward::WindowsOf(absl::Span<const InputInfo> inputs) const {
  return InferConvolution(param(), inputs[0].type, inputs[1].type);
}

// The filter's gradient comes first: the image may die there, before the image's gradient is
// computed.
absl::Status ConvolutionForward::Gradient(GradientContext& context) const {
  Gradients g(context);
  return ConvolutionGradient(g, param(), g.of());
}

absl::Status ConvolutionGradient(Gradients& g, const ConvolutionParam& param, int diff) {
  const int src = g.input(0), filter = g.input(1);
  if (g.wants(1)) g.Set(1, g.Add<ConvolutionBackwardFilter>(param, {src, diff, filter}));
  if (g.wants(0)) {
    ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry geometry,
                            InferConvolution(param, g.input_type(0), g.input_type(1)));
    // This gives the output the image's size, including rows after the last window.
    const auto pad_end = [](const WindowAxis& axis) {
      return axis.stride * (axis.output - 1) + axis.extent() - axis.pad_begin - axis.input;
    };
    ConvolutionParam back = param;
    back.pad_h_end = pad_end(geometry.h);
    back.pad_w_end = pad_end(geometry.w);
    g.Set(0, g.Add<ConvolutionBackwardData>(back, {diff, filter}));
  }
  return g.status();
}

}  // namespace ashlar
