// Convolutions of volumes, and the gradients of convolutions, as other operators.
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/concat.h"
#include "opr/convolution.h"
#include "opr/convolution3d.h"
#include "opr/convolution_backward_data.h"
#include "opr/convolution_backward_filter.h"
#include "opr/convolution_filter_update.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/matrix_mul_bias.h"
#include "opr/matrix_mul_update.h"
#include "opr/pad.h"
#include "opr/rewrites/composition.h"
#include "opr/rewrites/conv_fusion.h"
#include "opr/rewrites/quantized_weights.h"

namespace ashlar {
namespace {

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

// Output slices begin to end, for which only the filter slices first_tap to end_tap are inside the
// volume; the other filter slices cover only padding.
struct Slices {
  int64_t begin = 0, end = 0, first_tap = 0, end_tap = 0;
};

// Divides the output's slices into such ranges; empty if one of them covers only padding.
std::vector<Slices> SlicesOfOneKind(const WindowAxis& d) {
  std::vector<Slices> parts;
  for (int64_t o = 0; o < d.output; ++o) {
    const auto is_outside = [&](int64_t kd) {
      const int64_t z = d.Origin(o) + kd * d.dilation;
      return z < 0 || z >= d.input;
    };
    Slices slice = {o, o + 1, 0, d.window};
    while (slice.first_tap < slice.end_tap && is_outside(slice.first_tap)) ++slice.first_tap;
    while (slice.first_tap < slice.end_tap && is_outside(slice.end_tap - 1)) --slice.end_tap;
    if (slice.first_tap == slice.end_tap) return {};
    const bool same = !parts.empty() && parts.back().first_tap == slice.first_tap &&
                      parts.back().end_tap == slice.end_tap;
    if (same) {
      parts.back().end = slice.end;
    } else {
      parts.push_back(slice);
    }
  }
  return parts;
}

}  // namespace

absl::StatusOr<std::vector<int>> Convolution3DForward::Compose(GraphBuilder& builder,
                                                               absl::Span<const int> inputs) const {
  Composition c(builder);
  std::vector<InputInfo> infos;
  for (const int input : inputs) infos.push_back({c.type(input)});
  ASHLAR_ASSIGN_OR_RETURN(Convolution3DGeometry g, InferConvolution3D(param(), infos));
  const Shape shape = infos[kSrc].type.shape;
  int volume = inputs[kSrc];
  std::vector<Slices> parts = SlicesOfOneKind(g.d);
  if (parts.empty()) {
    volume = c.Add<Pad>(
        {PadMode::kConstant, {0, 0, g.d.pad_begin, 0, 0}, {0, 0, g.d.pad_end, 0, 0}}, {volume});
    g.d.input += g.d.pad_begin + g.d.pad_end;
    g.d.pad_begin = g.d.pad_end = 0;
    parts = SlicesOfOneKind(g.d);
  }
  // Depth becomes an outer batch dimension: slices are images, and consecutive slices are a range
  // of them.
  const int slices = c.Add<Dimshuffle>({{2, 0, 1, 3, 4}}, {volume});
  const int images = c.Reshaped(slices, {g.d.input * g.batch, shape[1], shape[3], shape[4]});
  const auto slices_met = [&](const Slices& part, int64_t kd) {
    const int64_t first = g.d.Origin(part.begin) + kd * g.d.dilation;
    const int64_t count = part.end - part.begin;
    if (g.d.stride == 1 || count == 1) {
      return c.Slice(images, 0, first * g.batch, (first + count) * g.batch);
    }
    if (g.batch == 1)
      return c.Slice(images, 0, first, first + (count - 1) * g.d.stride + 1, g.d.stride);
    const int64_t end = first + (count - 1) * g.d.stride + 1;
    return c.Reshaped(c.Slice(slices, 0, first, end, g.d.stride),
                      {count * g.batch, shape[1], shape[3], shape[4]});
  };
  const bool grouped = param().sparse == SparseMode::kGroup;
  Shape filter = {g.out_channels, g.in_channels, g.h.window, g.w.window};
  if (grouped) filter = {g.groups, g.out_channels, g.in_channels, g.h.window, g.w.window};
  std::vector<int> taps(static_cast<size_t>(g.d.window), -1);
  const auto tap = [&](int64_t kd) {
    int& slice = taps[static_cast<size_t>(kd)];
    if (slice < 0)
      slice = c.Reshaped(c.Slice(inputs[kFilter], grouped ? 3 : 2, kd, kd + 1), filter);
    return slice;
  };
  const int64_t channels = g.groups * g.out_channels;
  std::vector<int> sums;
  for (const Slices& part : parts) {
    int y = 0;
    for (int64_t kd = part.first_tap; kd < part.end_tap; ++kd) {
      const int product =
          c.Add<ConvolutionForward>(SliceParam(param()), {slices_met(part, kd), tap(kd)});
      y = kd == part.first_tap ? product : c.Apply(ScalarFunction::kAdd, {product, y});
    }
    if (inputs.size() > kBias) {
      const int bias = c.Reshaped(inputs[kBias], {1, channels, 1, 1});
      y = c.Apply(ScalarFunction::kAdd, {y, bias});
    }
    sums.push_back(y);
  }
  const int y = c.Reshaped(sums.size() == 1 ? sums[0] : c.Add<Concat>({0}, sums),
                           {g.d.output, g.batch, channels, g.h.output, g.w.output});
  return std::move(c).Finish({c.Add<Dimshuffle>({{1, 2, 0, 3, 4}}, {y})});
}

absl::StatusOr<std::vector<int>> ConvolutionBackwardData::Compose(
    GraphBuilder& builder, absl::Span<const int> inputs) const {
  Composition c(builder);
  const TensorType src = c.type(inputs[kSrc]);
  ASHLAR_ASSIGN_OR_RETURN(const BackwardDataGeometry g,
                          InferBackwardData(param(), src, c.type(inputs[kFilter])));
  const int64_t planes = src.shape[0] * src.shape[1];
  Shape shape = {planes, g.h.output, 1, g.w.output, 1};
  int image = c.Reshaped(inputs[kSrc], shape);
  // Inserts zeros after each row and each column.
  const auto spread = [&](int axis, int64_t stride) {
    if (stride == 1) return;
    Shape zeros = shape;
    zeros[axis] = stride - 1;
    image = c.Add<Concat>({axis}, {image, c.Filled(src.dtype, zeros, 0)});
    shape[axis] = stride;
  };
  spread(2, g.h.stride);
  spread(4, g.w.stride);
  image = c.Reshaped(
      image, {src.shape[0], src.shape[1], g.h.output * g.h.stride, g.w.output * g.w.stride});
  const bool grouped = param().sparse == SparseMode::kGroup;
  const int filter = c.Add<Dimshuffle>(
      {grouped ? std::vector<int64_t>{0, 2, 1, 3, 4} : std::vector<int64_t>{1, 0, 2, 3}},
      {inputs[kFilter]});
  ConvolutionParam forward = param();
  forward.mode = param().mode == ConvolutionMode::kConvolution ? ConvolutionMode::kCrossCorrelation
                                                               : ConvolutionMode::kConvolution;
  forward.stride_h = forward.stride_w = 1;
  forward.pad_h = g.h.extent() - 1 - g.h.pad_begin;
  forward.pad_h_end = g.h.extent() - 1 - g.h.pad_end - (g.h.stride - 1);
  forward.pad_w = g.w.extent() - 1 - g.w.pad_begin;
  forward.pad_w_end = g.w.extent() - 1 - g.w.pad_end - (g.w.stride - 1);
  int spread_image = c.Add<ConvolutionForward>(forward, {image, filter});
  if (inputs.size() > kZ) {
    spread_image = c.Add<Elemwise>({ScalarFunction::kAdd}, {inputs[kZ], spread_image});
  }
  return std::move(c).Finish({spread_image});
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

absl::StatusOr<std::vector<int>> ConvolutionFilterUpdate::Compose(
    GraphBuilder& builder, absl::Span<const int> inputs) const {
  Composition c(builder);
  const int gradient =
      c.Add<ConvolutionBackwardFilter>(param(), {inputs[kSrc], inputs[kDiff], inputs[kDest]});
  return std::move(c).Finish({c.Add<AddUpdate>({param().alpha, 1, 0}, {inputs[kDest], gradient})});
}

}  // namespace ashlar
