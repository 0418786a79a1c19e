#include "opr/convolution_backward_filter.h"

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/saturating_product.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/matrix_mul.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(ConvolutionBackwardFilter)

namespace {

// Returns the gradient of one weight over one pair of planes. It sums element (y, x) of the
// gradient times the image element under tap (kh, kw) of its window.
double TapGradient(const ConvolutionGeometry& g, int64_t kh, int64_t kw, const double* src,
                   const double* diff) {
  const Range rows = g.h.OutputsInside(kh), columns = g.w.OutputsInside(kw);
  double sum = 0;
  for (int64_t y = rows.begin; y < rows.end; ++y) {
    const double* const row = src + (g.h.Origin(y) + kh * g.h.dilation) * g.w.input;
    for (int64_t x = columns.begin; x < columns.end; ++x) {
      sum += diff[y * g.w.output + x] * row[g.w.Origin(x) + kw * g.w.dilation];
    }
  }
  return sum;
}

}  // namespace

absl::StatusOr<ConvolutionGeometry> InferBackwardFilter(const ConvolutionParam& param,
                                                        const TensorType& src,
                                                        const TensorType& diff,
                                                        const TensorType& filter) {
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry geometry, InferConvolution(param, src, filter));
  ASHLAR_RETURN_IF_ERROR(CheckNotEmpty("input", src));
  ASHLAR_RETURN_IF_ERROR(CheckDiff(diff, src.dtype, geometry.output(), "the convolution's"));
  return geometry;
}

absl::StatusOr<std::vector<TensorType>> ConvolutionBackwardFilter::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  const TensorType& filter = inputs[kFilter].type;
  ASHLAR_RETURN_IF_ERROR(
      InferBackwardFilter(param(), inputs[kSrc].type, inputs[kDiff].type, filter).status());
  return std::vector<TensorType>{{filter.dtype, filter.shape}};
}

absl::StatusOr<std::vector<HostTensor>> ConvolutionBackwardFilter::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& filter = inputs[kFilter];
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry g,
                          InferConvolution(param(), {inputs[kSrc].dtype(), inputs[kSrc].shape()},
                                           {filter.dtype(), filter.shape()}));
  const std::vector<double> src = ToDoubles(inputs[kSrc]), diff = ToDoubles(inputs[kDiff]);
  const int64_t src_plane = g.h.input * g.w.input, diff_plane = g.h.output * g.w.output;
  const int64_t taps = g.h.window * g.w.window, all_out = g.groups * g.out_channels;
  const bool flip = param().mode == ConvolutionMode::kConvolution;
  HostTensor output = HostTensor::Zeros(filter.dtype(), filter.shape());
  for (int64_t i = 0; i < output.num_elements(); ++i) {
    const int64_t at = i % taps, tap = flip ? taps - 1 - at : at;
    const int64_t ic = i / taps % g.in_channels, oc = i / taps / g.in_channels;
    const int64_t image_channel = oc / g.out_channels * g.in_channels + ic;
    double sum = 0;
    for (int64_t n = 0; n < g.batch; ++n) {
      sum += TapGradient(g, tap / g.w.window, tap % g.w.window,
                         &src[(n * g.groups * g.in_channels + image_channel) * src_plane],
                         &diff[(n * all_out + oc) * diff_plane]);
    }
    output.Set(i, sum);
  }
  return std::vector<HostTensor>{std::move(output)};
}

int64_t ConvolutionBackwardFilter::Computation(const Site& site) const {
  // Each weight has one multiply and one add for each output that it contributes to, as forward.
  const TensorType& filter = site.inputs[kFilter].type;
  const absl::StatusOr<ConvolutionGeometry> geometry =
      InferConvolution(param(), site.inputs[kSrc].type, filter);
  if (!geometry.ok()) return 0;
  return SaturatingProduct(
      {geometry->batch, geometry->h.output, geometry->w.output, filter.shape.num_elements(), 2});
}

}  // namespace ashlar
