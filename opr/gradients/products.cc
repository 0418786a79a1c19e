// Gradients of convolutions and products of matrices.
#include <optional>
#include <utility>
#include <vector>

#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/convolution_backward_data.h"
#include "opr/convolution_backward_filter.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/gradients/gradients.h"
#include "opr/gradients/scalar_gradient.h"
#include "opr/matrix_mul.h"
#include "opr/rewrites/composition.h"

namespace ashlar {
namespace {

// Sets the gradients with respect to the image (input 0) and the filter (input 1); `diff` is the
// gradient with respect to the sums. The filter's gradient comes first: the image may die there,
// before the image's gradient is computed.
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

}  // namespace

absl::Status ConvolutionForward::Gradient(GradientContext& context) const {
  Gradients g(context);
  return ConvolutionGradient(g, param(), g.of());
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

// The image's gradient is the forward convolution; in the filter's gradient, image and gradient are
// exchanged.
absl::Status ConvolutionBackwardData::Gradient(GradientContext& context) const {
  Gradients g(context);
  const int src = g.input(kSrc), filter = g.input(kFilter);
  if (g.wants(kFilter)) {
    g.Set(kFilter, g.Add<ConvolutionBackwardFilter>(param(), {g.of(), src, filter}));
  }
  if (g.num_inputs() > kZ) g.Set(kZ, g.of());
  if (g.wants(kSrc)) g.Set(kSrc, g.Add<ConvolutionForward>(param(), {g.of(), filter}));
  return std::move(g).Finish();
}

// Sums the batch dimensions that an operand broadcasts. If many A share one matrix B, their rows
// are stacked into one matrix when they are contiguous; then nothing is summed.
absl::Status MatrixMul::Gradient(GradientContext& context) const {
  Gradients g(context);
  const bool a_is_turned = param().transposeA, b_is_turned = param().transposeB;
  const auto product = [&](int a, bool turn_a, int b, bool turn_b) {
    MatrixMulParam turned = param();
    turned.transposeA = turn_a;
    turned.transposeB = turn_b;
    return g.Add<MatrixMul>(turned, {a, b});
  };
  const int a = g.input(0), b = g.input(1), y = g.of();
  if (g.wants(1)) {
    const Shape from = g.input_type(0).shape, to = g.type(y).shape;
    const bool rows = !a_is_turned && g.input_type(1).shape.rank() == 2 && from.rank() > 2;
    const int64_t k = from[from.rank() - 1], n = to[to.rank() - 1];
    const int left = rows ? g.Reshaped(a, {from.num_elements() / k, k}) : a;
    const int right = rows ? g.Reshaped(y, {to.num_elements() / n, n}) : y;
    g.Set(1, b_is_turned ? product(right, true, left, a_is_turned)
                         : product(left, !a_is_turned, right, false));
  }
  if (g.wants(0)) {
    g.Set(0, a_is_turned ? product(b, b_is_turned, y, true) : product(y, false, b, !b_is_turned));
  }
  return std::move(g).Finish();
}

}  // namespace ashlar
