// Gradients of norms, softmax and losses.
#include <utility>
#include <vector>

#include "opr/batch_norm.h"
#include "opr/batch_norm_training.h"
#include "opr/cross_entropy.h"
#include "opr/elemwise.h"
#include "opr/gradients/gradients.h"
#include "opr/log_softmax.h"
#include "opr/lrn.h"
#include "opr/lrn_backward.h"
#include "opr/reduce.h"
#include "opr/rewrites/composition.h"
#include "opr/softmax.h"
#include "opr/softmax_backward.h"

namespace ashlar {

// The gradient of y = (x - mean) i scale + bias with i = 1 / sqrt(variance + epsilon).
absl::Status BatchNorm::Gradient(GradientContext& context) const {
  using F = ScalarFunction;
  Gradients g(context);
  const TensorType x = g.input_type(kX);
  const Shape channels = OnePerChannel(x.shape);
  const auto of = [&](int i) { return g.Reshaped(g.input(i), channels); };
  const auto product = [&](int a, int b) { return g.Apply(F::kMul, {a, b}); };
  const auto set = [&](int i, int var) { g.Set(i, g.Reshaped(var, g.input_type(i).shape)); };
  const int variance = g.Apply(F::kAdd, {of(kVariance), g.Constant(x.dtype, param().epsilon)});
  const int inverse = g.Apply(F::kTrueDiv, {g.Constant(x.dtype, 1), g.Apply(F::kSqrt, {variance})});
  const int slope = product(of(kScale), inverse);
  if (g.wants(kScale) || g.wants(kVariance)) {
    const int centred = g.Apply(F::kSub, {g.input(kX), of(kMean)});
    const int sums = g.SummedTo(product(centred, g.of()), channels);
    set(kScale, product(sums, inverse));
    const int half = g.Apply(F::kTrueDiv, {slope, product(variance, g.Constant(x.dtype, -2))});
    set(kVariance, product(sums, half));
  }
  if (g.wants(kBias) || g.wants(kMean)) {
    const int sums = g.SummedTo(g.of(), channels);
    set(kBias, sums);
    set(kMean, g.Apply(F::kNegate, {product(sums, slope)}));
  }
  if (g.wants(kX)) g.Set(kX, product(g.of(), slope));
  return std::move(g).Finish();
}

// An element changes the mean by 1 / n and the variance by 2 (x - mean) / n.
absl::Status BatchNormTraining::Gradient(GradientContext& context) const {
  using F = ScalarFunction;
  Gradients g(context);
  const TensorType x = g.input_type(kX);
  const int mean = g.output(kMean), variance = g.output(kVariance);
  if (g.has(kY)) {
    const std::vector<int> made = g.AddAll<BatchNormBackward>(
        {param().epsilon}, {g.input(kX), g.of(kY), mean, variance, g.input(kScale)});
    g.Set(kScale, made[BatchNormBackward::kDScale]);
    g.Set(kBias, g.Reshaped(made[BatchNormBackward::kDBias], g.input_type(kBias).shape));
    g.Set(kX, made[BatchNormBackward::kDX]);
  }
  const double count =
      static_cast<double>(x.shape.num_elements()) / static_cast<double>(x.shape[1]);
  const auto share = [&](int var, double factor) {
    return g.Apply(F::kMul, {var, g.Constant(x.dtype, factor / count)});
  };
  if (g.has(kMean)) g.Set(kX, g.Repeated(share(g.of(kMean), 1), x.shape));
  if (g.has(kVariance)) {
    const int centred = g.Apply(F::kSub, {g.input(kX), mean});
    g.Set(kX, g.Apply(F::kMul, {centred, share(g.of(kVariance), 2)}));
  }
  return std::move(g).Finish();
}

absl::Status LRN::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(0, g.Add<LRNBackward>(param(), {g.input(0), g.of()}));
}

absl::Status Softmax::Gradient(GradientContext& context) const {
  Gradients g(context);
  const int dx = g.Add<SoftmaxBackward>({param().axis}, {g.output(), g.of()});
  return g.SetOnly(0, g.Converted(dx, g.input_type(0).dtype));
}

// The gradient is diff - exp(y) * (sum of diff).
absl::Status LogSoftmax::Gradient(GradientContext& context) const {
  using F = ScalarFunction;
  Gradients g(context);
  const int sums = g.Add<Reduce>({ReduceMode::kSum, param().axis}, {g.of()});
  const int weighed = g.Apply(F::kMul, {g.Apply(F::kExp, {g.output()}), sums});
  return g.SetOnly(0, g.Converted(g.Apply(F::kSub, {g.of(), weighed}), g.input_type(0).dtype));
}

absl::Status CrossEntropy::Gradient(GradientContext& context) const {
  Gradients g(context);
  return g.SetOnly(kLogits,
                   g.Add<CrossEntropyBackward>({}, {g.input(kLogits), g.input(kLabels), g.of()}));
}

}  // namespace ashlar
