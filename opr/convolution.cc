#include "opr/convolution.h"

#include <algorithm>

#include "opr/checks.h"
#include "opr/conv_filter.h"
#include "opr/conv_fusion.h"
#include "opr/conv_reference.h"
#include "opr/saturating_product.h"

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
  if (inputs[0].dtype() != DType::kFloat32) return EvaluateRounded(*this, inputs);
  ASHLAR_ASSIGN_OR_RETURN(ConvolutionGeometry geometry,
                          InferConvolution(param(), {inputs[0].dtype(), inputs[0].shape()},
                                           {inputs[1].dtype(), inputs[1].shape()}));
  HostTensor output = HostTensor::Zeros(DType::kFloat32, geometry.output());
  float* out = output.mutable_data<float>().data();
  ConvolvePlanes(param(), geometry, inputs[0], inputs[1],
                 [&out](int64_t /*channel*/, absl::Span<const double> plane) {
                   out = std::copy(plane.begin(), plane.end(), out);
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

absl::StatusOr<WindowAxes> ConvolutionForward::WindowsOf(absl::Span<const InputInfo> inputs) const {
  return InferConvolution(param(), inputs[0].type, inputs[1].type);
}

}  // namespace ashlar
