// Imports convolutions. Images of 8 bits become integer convolutions, whose sums are rounded once.
#include <cmath>
#include <tuple>

#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/convolution_backward_data.h"
#include "opr/quantized_conv.h"
#include "serialization/tflite/import/linear.h"
#include "serialization/tflite/import/table.h"
#include "serialization/tflite/import/windows.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using tflite::Activation;
using tflite::BuiltinOperator;

// The filter as the convolution reads it: [oc, ic, h, w], or with groups [g, oc / g, ic / g, h, w].
struct Filter {
  std::vector<int64_t> pattern;  // of Dimshuffle from the file's order
  Shape shape;                   // after it
  int64_t groups = 1;

  int64_t channels() const { return shape[0]; }
  Shape grouped() const {
    if (groups == 1) return shape;
    return {groups, shape[0] / groups, shape[1], shape[2], shape[3]};
  }
};

// [oc, h, w, ic / groups]; of a depthwise convolution [1, h, w, oc].
Filter FilterOf(TfliteNode& node, bool depthwise, int64_t channels) {
  const Shape own = node.shape(node.Input(1));
  if (!node.ok()) return {};
  if (own.rank() != 4 || own.num_elements() == 0 || channels <= 0) {
    node.Invalid("the filter is ", own.ToString(), ", of an image with ", channels,
                 " channels, expected 4 dimensions");
    return {};
  }
  Filter filter;
  filter.pattern = depthwise ? std::vector<int64_t>{3, 0, 1, 2} : std::vector<int64_t>{0, 3, 1, 2};
  for (const int64_t axis : filter.pattern) filter.shape.push_back(own[static_cast<int>(axis)]);
  filter.groups = depthwise ? channels : channels / filter.shape[1];
  if (filter.shape[1] * filter.groups != channels || filter.channels() % filter.groups != 0) {
    node.Invalid("the filter is ", own.ToString(), ", of an image with ", channels, " channels");
  }
  return filter;
}

TfliteVar Convolution(TfliteNode& node, TfliteVar x, const Filter& filter, ConvolutionParam param,
                      Activation activation) {
  if (filter.groups > 1) param.sparse = SparseMode::kGroup;
  const auto arranged = [&](TfliteVar weights) {
    return node.Reshaped(node.Permuted(weights, filter.pattern), filter.grouped());
  };
  TfliteLinear linear;
  linear.channels = filter.channels();
  linear.per_channel = {1, filter.channels(), 1, 1};
  linear.weights_axis = filter.pattern[0] == 0 ? 0 : 3;
  linear.floats = [&](TfliteVar x, TfliteVar weights, bool exact) {
    ConvolutionParam own = param;
    if (exact) own.compute_mode = ComputeMode::kFloat32;
    return node.Add<ConvolutionForward>(own, {x, arranged(weights)});
  };
  linear.integers = [&](TfliteVar x, TfliteVar weights, TfliteVar bias, const ConvBiasParam& of) {
    ConvBiasParam own = of;
    static_cast<ConvolutionParam&>(own) = param;
    return node.Add<ConvBiasForward>(own, {x, weights, bias});
  };
  linear.arranged = arranged;
  return Computed(node, linear, x, 1, 2, activation);
}

template <typename Options>
void ImportConvolution(TfliteNode& node, bool depthwise) {
  const Options* const options = node.Options<Options>();
  const Shape image = node.shape(node.Image(0));
  const Filter filter = FilterOf(node, depthwise, image.rank() == 4 ? image[1] : 0);
  if (!node.ok()) return;
  const TfliteWindow h = {image[2], filter.shape[2], options->stride_h(), options->dilation_h()};
  const TfliteWindow w = {image[3], filter.shape[3], options->stride_w(), options->dilation_w()};
  CheckTfliteWindow(node, h, w, options->padding());
  if (!node.ok()) return;
  ConvolutionParam param;
  SetTfliteWindows(h, w, options->padding(), param);
  TfliteVar x = node.Numbers(0, TfliteLayout::kImage);
  const TfliteTensor& given = node.TensorOf(0);
  const auto [above, below, before, after] = given.zeros;
  const bool inside = std::max(above, below) < h.extent() && std::max(before, after) < w.extent();
  if (options->padding() == tflite::Padding::VALID && given.inner != kNoTfliteVar && inside) {
    x = given.inner;
    std::tie(param.pad_h, param.pad_h_end) = std::make_pair(above, below);
    std::tie(param.pad_w, param.pad_w_end) = std::make_pair(before, after);
  }
  node.Result(0, Convolution(node, x, filter, param, options->activation()), TfliteLayout::kImage);
}

void Conv2D(TfliteNode& node) { ImportConvolution<tflite::Conv2DOptions>(node, false); }
void DepthwiseConv2D(TfliteNode& node) {
  ImportConvolution<tflite::DepthwiseConv2DOptions>(node, true);
}

// Inputs: the output's shape, a filter [oc, h, w, ic], the image, optionally a bias.
void TransposeConv(TfliteNode& node) {
  const auto* const options = node.Options<tflite::TransposeConvOptions>();
  const std::vector<int64_t> output = node.Ints(0, "the output's shape");
  const Shape image = node.shape(node.Image(2)), filter = node.shape(node.Input(1));
  if (!node.ok()) return;
  if (output.size() != 4 || filter.rank() != 4 || filter[3] != image[1]) {
    node.Invalid("the output has ", output.size(), " dimensions, the filter is ", filter.ToString(),
                 ", the image {N,C,H,W} ", image.ToString());
    return;
  }
  const TfliteWindow h = {output[1], filter[1], options->stride_h()};
  const TfliteWindow w = {output[2], filter[2], options->stride_w()};
  CheckTfliteWindow(node, h, w, options->padding());
  if (!node.ok()) return;
  ConvolutionParam param;
  param.stride_h = h.stride;
  param.stride_w = w.stride;
  // The file gives the output's size: rows that no element reaches have negative padding.
  const auto pads = [&](const TfliteWindow& axis, int64_t inputs) {
    const int64_t total = axis.stride * (inputs - 1) + axis.window - axis.input;
    const int64_t before =
        options->padding() == tflite::Padding::VALID ? 0 : std::max<int64_t>(total, 0) / 2;
    return std::make_pair(before, total - before);
  };
  if (output[1] < 1 || output[1] > (1 << 24) || output[2] < 1 || output[2] > (1 << 24)) {
    node.Invalid("the output is ", output[1], " x ", output[2]);
    return;
  }
  std::tie(param.pad_h, param.pad_h_end) = pads(h, image[2]);
  std::tie(param.pad_w, param.pad_w_end) = pads(w, image[3]);
  TfliteLinear linear;
  linear.channels = filter[0];
  linear.per_channel = {1, filter[0], 1, 1};
  linear.weights_axis = 0;
  linear.floats = [&](TfliteVar x, TfliteVar weights, bool exact) {
    ConvolutionParam own = param;
    if (exact) own.compute_mode = ComputeMode::kFloat32;
    return node.Add<ConvolutionBackwardData>(own, {x, node.Permuted(weights, {3, 0, 1, 2})});
  };
  node.Result(
      0, Computed(node, linear, node.Numbers(2, TfliteLayout::kImage), 1, 3, options->activation()),
      TfliteLayout::kImage);
}

constexpr TfliteRow kConvolutionRows[] = {
    {BuiltinOperator::CONV_2D, 2, 3, Conv2D},
    {BuiltinOperator::DEPTHWISE_CONV_2D, 2, 3, DepthwiseConv2D},
    {BuiltinOperator::TRANSPOSE_CONV, 3, 4, TransposeConv},
};

}  // namespace

absl::Span<const TfliteRow> TfliteConvolutionRows() { return kConvolutionRows; }

}  // namespace ashlar
