#include "opr/convolution_backward_filter.h"

#include "graph/graph_builder.h"
#include "opr/checks.h"
#include "opr/composition.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/doubles.h"
#include "opr/matrix_mul.h"
#include "opr/saturating_product.h"

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

// The gradient of each tap, as matrices [G, OC, IC] of the groups' channels.
class TapGradients {
 public:
  // Converts images [N, G C, H, W] to pixels: [N, H, W, G, C].
  TapGradients(Composition& c, const ConvolutionGeometry& g, int src, int diff)
      : c_(c),
        g_(g),
        src_(Pixels(src, g.in_channels, g.h.input, g.w.input)),
        diff_(Pixels(diff, g.out_channels, g.h.output, g.w.output)) {}

  int At(int64_t kh, int64_t kw) {
    const Range rows = g_.h.OutputsInside(kh), columns = g_.w.OutputsInside(kw);
    const int64_t pixels = g_.batch * rows.size() * columns.size();
    if (pixels == 0) {
      return c_.Filled(c_.type(diff_).dtype, {g_.groups, g_.out_channels, g_.in_channels}, 0);
    }
    const int below = Part(Part(src_, 1, g_.h, kh, rows), 2, g_.w, kw, columns);
    const int given = Part(Part(diff_, 1, rows, g_.h.output), 2, columns, g_.w.output);
    if (g_.in_channels == 1 && g_.out_channels == 1) return Dot(given, below, pixels);
    const int a = Matrices(given, pixels, g_.out_channels);
    return c_.Add<MatrixMul>({/*transposeA=*/true, /*transposeB=*/false},
                             {a, Matrices(below, pixels, g_.in_channels)});
  }

 private:
  int Pixels(int image, int64_t channels, int64_t h, int64_t w) {
    return c_.Reshaped(c_.Add<Dimshuffle>({{0, 2, 3, 1}}, {image}),
                       {g_.batch, h, w, g_.groups, channels});
  }
  // Take the rows (or columns) of the gradient, and the image's rows under a tap of them.
  int Part(int var, int axis, const Range& outputs, int64_t all) {
    return outputs.size() == all ? var : c_.Slice(var, axis, outputs.begin, outputs.end);
  }
  int Part(int var, int axis, const WindowAxis& window, int64_t tap, const Range& outputs) {
    const int64_t first = window.Origin(outputs.begin) + tap * window.dilation;
    const int64_t end = window.Origin(outputs.end - 1) + tap * window.dilation + 1;
    if (first == 0 && end == window.input && window.stride == 1) return var;
    return c_.Slice(var, axis, first, end, window.stride);
  }
  // Converts [N, H, W, G, C] to [G, pixels, C].
  int Matrices(int var, int64_t pixels, int64_t channels) {
    const int matrix = c_.Reshaped(var, {pixels, g_.groups, channels});
    return g_.groups == 1 ? c_.Reshaped(matrix, {1, pixels, channels})
                          : c_.Add<Dimshuffle>({{1, 0, 2}}, {matrix});
  }
  // For single channels.
  int Dot(int a, int b, int64_t pixels) {
    const int products = c_.Reshaped(c_.Apply(ScalarFunction::kMul, {a, b}), {pixels, g_.groups});
    return c_.Reshaped(c_.SummedTo(products, {1, g_.groups}), {g_.groups, 1, 1});
  }

  Composition& c_;
  const ConvolutionGeometry& g_;
  const int src_, diff_;
};

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

absl::StatusOr<std::vector<int>> ConvolutionBackwardFilter::Compose(
    GraphBuilder& builder, absl::Span<const int> inputs) const {
  Composition c(builder);
  const TensorType filter = c.type(inputs[kFilter]);
  ASHLAR_ASSIGN_OR_RETURN(
      const ConvolutionGeometry g,
      InferBackwardFilter(param(), c.type(inputs[kSrc]), c.type(inputs[kDiff]), filter));
  const int64_t taps = g.h.window * g.w.window;
  TapGradients gradients(c, g, inputs[kSrc], inputs[kDiff]);
  std::vector<int> parts;
  for (int64_t at = 0; at < taps; ++at) {
    const int64_t tap = param().mode == ConvolutionMode::kConvolution ? taps - 1 - at : at;
    const int part = gradients.At(tap / g.w.window, tap % g.w.window);
    parts.push_back(taps == 1 ? part
                              : c.Reshaped(part, {g.groups, g.out_channels, g.in_channels, 1}));
  }
  const int joined = taps == 1 ? parts[0] : c.Add<Concat>({3}, std::move(parts));
  return std::move(c).Finish({c.Reshaped(joined, filter.shape)});
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
