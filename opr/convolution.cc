#include "opr/convolution.h"

#include <algorithm>

#include "graph/graph_builder.h"
#include "opr/base/saturating_product.h"
#include "opr/base/strided.h"
#include "opr/conv_reference.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ConvolutionForward)

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

}  // namespace ashlar
