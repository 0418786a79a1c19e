// Norms, losses and their gradients as sums and scalar functions.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/base/operands.h"
#include "opr/batch_norm.h"
#include "opr/batch_norm_training.h"
#include "opr/cross_entropy.h"
#include "opr/elemwise.h"
#include "opr/elemwise_multi_type.h"
#include "opr/layer_norm.h"
#include "opr/log_softmax.h"
#include "opr/lrn_backward.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/rewrites/composition.h"
#include "opr/softmax.h"
#include "opr/softmax_backward.h"

namespace ashlar {
namespace {

// Parts of compositions: values that are equal for all elements of a channel are [1, C, 1, ...].
struct ChannelComposition : Composition {
  ChannelComposition(GraphBuilder& builder, int x)
      : Composition(builder), dtype(type(x).dtype), statistic(OnePerChannel(type(x).shape)) {
    count = static_cast<double>(type(x).shape.num_elements()) /
            static_cast<double>(statistic.num_elements());
  }
  int ByChannel(int var) { return type(var).shape == statistic ? var : Reshaped(var, statistic); }
  int Sum(int var) { return SummedTo(var, statistic); }
  int Scaled(int var, double factor) {
    return Apply(ScalarFunction::kMul, {var, Constant(dtype, factor)});
  }
  int Mean(int var) { return Scaled(Sum(var), 1 / count); }
  int Deviation(int variance, double epsilon) {
    return Apply(ScalarFunction::kSqrt,
                 {Apply(ScalarFunction::kAdd, {variance, Constant(dtype, epsilon)})});
  }

  const DType dtype;
  const Shape statistic;
  double count = 1;  // elements of a channel
};

// Adds a matrix with a one at each row's label and zeros elsewhere.
int AddChosen(Composition& c, int labels, const TensorType& logits) {
  const DType dtype = logits.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  HostTensor all = HostTensor::Zeros(dtype, {1, logits.shape[1]});
  for (int64_t i = 0; i < all.num_elements(); ++i) all.Set(i, static_cast<double>(i));
  const int column = c.Reshaped(c.Converted(labels, dtype), {logits.shape[0], 1});
  return c.Apply(ScalarFunction::kEqual, {column, c.Constant(std::move(all))});
}

constexpr int64_t kMostExactInFloat = int64_t{1} << 24;

}  // namespace

absl::StatusOr<int> BatchNorm::MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                             const QuantizationChoice& choice) const {
  std::vector<InputInfo> infos;
  std::vector<HostTensor> values;
  values.reserve(inputs.size());
  for (const int input : inputs) {
    const HostTensor* const value = builder.StaticValue(input);
    values.push_back(value == nullptr ? HostTensor() : *value);
    infos.push_back({builder.graph().var(input).type, value == nullptr ? nullptr : &values.back()});
  }
  const std::optional<ChannelAffine> affine = AsChannelAffine(infos);
  if (!affine) return absl::FailedPreconditionError("its statistics are not constant");
  const Shape by_channel = OnePerChannel(choice.output.shape);
  Composition c(builder);
  const auto constant = [&](const std::vector<double>& numbers) {
    HostTensor tensor = HostTensor::Zeros(DType::kFloat32, by_channel);
    for (size_t i = 0; i < numbers.size(); ++i) tensor.Set(static_cast<int64_t>(i), numbers[i]);
    return c.Constant(std::move(tensor));
  };
  const int scale = constant(affine->scale), shift = constant(affine->shift);
  const int made = c.Add<ElemwiseMultiType>(
      {{ScalarFunction::kFuseMulAdd3}, OutputTypeOf(choice.output)}, {inputs[kX], scale, shift});
  ASHLAR_RETURN_IF_ERROR(c.status());
  return made;
}

absl::StatusOr<std::vector<int>> BatchNormTraining::Compose(GraphBuilder& builder,
                                                            absl::Span<const int> inputs) const {
  Composition c(builder);
  const std::vector<int> made = c.AddAll<BatchNormStatistics>({}, {inputs[kX]});
  const int mean = made[BatchNormStatistics::kMean],
            variance = made[BatchNormStatistics::kVariance];
  const int y = c.Add<BatchNormApply>({param().epsilon},
                                      {inputs[kX], inputs[kScale], inputs[kBias], mean, variance});
  return std::move(c).Finish({y, mean, variance});
}

absl::StatusOr<std::vector<int>> BatchNormStatistics::Compose(GraphBuilder& builder,
                                                              absl::Span<const int> inputs) const {
  ChannelComposition c(builder, inputs[0]);
  const int mean = c.Mean(inputs[0]);
  const int centred = c.Apply(ScalarFunction::kSub, {inputs[0], mean});
  const int variance = c.Mean(c.Apply(ScalarFunction::kMul, {centred, centred}));
  return std::move(c).Finish({mean, variance});
}

absl::StatusOr<std::vector<int>> BatchNormApply::Compose(GraphBuilder& builder,
                                                         absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  ChannelComposition c(builder, inputs[kX]);
  const int factor = c.Apply(
      F::kTrueDiv,
      {c.ByChannel(inputs[kScale]), c.Deviation(c.ByChannel(inputs[kVariance]), param().epsilon)});
  const int scaled =
      c.Apply(F::kMul, {c.Apply(F::kSub, {inputs[kX], c.ByChannel(inputs[kMean])}), factor});
  int y = c.Apply(F::kAdd, {scaled, c.ByChannel(inputs[kBias])});
  if (inputs.size() > kAddend) y = c.Apply(F::kAdd, {y, inputs[kAddend]});
  if (param().rectified) {
    y = param().most > 0 ? c.Add<Elemwise>({F::kClamp, {0, param().most}}, {y})
                         : c.Apply(F::kRelu, {y});
  }
  return std::move(c).Finish({y});
}

std::optional<Replacement> BatchNormApply::Absorb(absl::Span<const InputInfo> inputs,
                                                  const Consumer& consumer) const {
  using F = ScalarFunction;
  const std::optional<ActivationTail> tail = AsActivationTail(consumer.op);
  if (!tail || param().rectified) return std::nullopt;
  BatchNormApplyParam fused = param();
  const ElemwiseParam& activation = tail->activation;
  fused.rectified = activation.mode != F::kIdentity;
  if (activation.mode == F::kClamp) {
    if (activation.parameters[0] != 0 || !(activation.parameters[1] > 0)) return std::nullopt;
    fused.most = activation.parameters[1];
  } else if (fused.rectified && activation.mode != F::kRelu) {
    return std::nullopt;
  }
  std::vector<Operand> operands = OwnOperands(inputs.size());
  if (tail->adds) {
    const int index = 1 - consumer.via;
    const TensorType &x = inputs[kX].type, &addend = consumer.inputs[index].type;
    if (inputs.size() > kAddend || addend.dtype != x.dtype || addend.shape != x.shape) {
      return std::nullopt;
    }
    operands.push_back(FromConsumer(index));
  }
  return Replacement{std::make_shared<const BatchNormApply>(fused), std::move(operands)};
}

absl::StatusOr<std::vector<int>> BatchNormBackward::Compose(GraphBuilder& builder,
                                                            absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  ChannelComposition c(builder, inputs[kX]);
  const Shape of_scale = c.type(inputs[kScale]).shape;
  const int scale = c.ByChannel(inputs[kScale]);
  const int inverse = c.Apply(
      F::kTrueDiv,
      {c.Constant(c.dtype, 1), c.Deviation(c.ByChannel(inputs[kVariance]), param().epsilon)});
  const int normalised =
      c.Apply(F::kMul, {c.Apply(F::kSub, {inputs[kX], c.ByChannel(inputs[kMean])}), inverse});
  int diff = inputs[kDiff];
  if (inputs.size() > kBias) {
    const int y =
        c.Apply(F::kAdd, {c.Apply(F::kMul, {normalised, scale}), c.ByChannel(inputs[kBias])});
    diff = c.Apply(F::kSwitchGt0, {y, diff});
    if (param().most > 0) {
      diff = c.Apply(F::kCondLtMov, {y, c.Constant(c.dtype, param().most), diff});
    }
  }
  const int dscale = c.Sum(c.Apply(F::kMul, {diff, normalised})), dbias = c.Sum(diff);
  const int along = c.Apply(F::kMul, {normalised, c.Scaled(dscale, 1 / c.count)});
  const int left =
      c.Apply(F::kSub, {c.Apply(F::kSub, {diff, c.Scaled(dbias, 1 / c.count)}), along});
  const int dx = c.Apply(F::kMul, {left, c.Apply(F::kMul, {scale, inverse})});
  const auto as_scale = [&](int var) {
    return c.statistic == of_scale ? var : c.Reshaped(var, of_scale);
  };
  return std::move(c).Finish({dx, as_scale(dscale), as_scale(dbias)});
}

absl::StatusOr<std::vector<int>> LayerNorm::Compose(GraphBuilder& builder,
                                                    absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType x = c.type(inputs[kX]);
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(param().axis, x.shape.rank()));
  const auto mean = [&](int var) {
    for (int i = axis; i < x.shape.rank(); ++i) var = c.Add<Reduce>({ReduceMode::kMean, i}, {var});
    return var;
  };
  const int centred = c.Apply(F::kSub, {inputs[kX], mean(inputs[kX])});
  const int variance = mean(c.Apply(F::kMul, {centred, centred}));
  const int deviation =
      c.Apply(F::kSqrt, {c.Apply(F::kAdd, {variance, c.Constant(x.dtype, param().epsilon)})});
  int y = c.Apply(F::kTrueDiv, {centred, deviation});
  if (inputs.size() > kScale) y = c.Apply(F::kMul, {y, inputs[kScale]});
  if (inputs.size() > kBias) y = c.Apply(F::kAdd, {y, inputs[kBias]});
  return std::move(c).Finish({y});
}

absl::StatusOr<std::vector<int>> LogSoftmax::Compose(GraphBuilder& builder,
                                                     absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const int x = c.Converted(inputs[0], SoftmaxDType(c.type(inputs[0]).dtype));
  const int largest = c.Add<Reduce>({ReduceMode::kMax, param().axis}, {x});
  const int below = c.Apply(F::kSub, {x, largest});
  const int sum = c.Add<Reduce>({ReduceMode::kSum, param().axis}, {c.Apply(F::kExp, {below})});
  return std::move(c).Finish({c.Apply(F::kSub, {below, c.Apply(F::kLog, {sum})})});
}

absl::StatusOr<std::vector<int>> LRNBackward::Compose(GraphBuilder& builder,
                                                      absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType x = c.type(inputs[kX]);
  const int64_t channels = x.shape[1];
  constexpr int64_t kMostChannels = 4096;
  if (channels > kMostChannels) return std::vector<int>();
  const double factor = param().alpha / static_cast<double>(param().size);
  HostTensor windows = HostTensor::Zeros(x.dtype, {channels, channels});
  for (int64_t of = 0; of < channels; ++of) {
    for (int64_t i = 0; i < channels; ++i) {
      const bool inside = i - of <= param().size / 2 && of - i <= (param().size - 1) / 2;
      if (inside) windows.Set(of * channels + i, 1);
    }
  }
  const int matrix = c.Constant(std::move(windows));
  const auto number = [&](double value) { return c.Constant(x.dtype, value); };
  const Shape planes = {x.shape[0], channels, x.shape[2] * x.shape[3]};
  const int rows = c.Reshaped(inputs[kX], planes), diff = c.Reshaped(inputs[kDiff], planes);
  const int squares = c.Add<MatrixMul>({}, {matrix, c.Apply(F::kMul, {rows, rows})});
  const int s = c.Apply(F::kFuseMulAdd3, {squares, number(factor), number(param().bias)});
  const int direct = c.Apply(F::kMul, {diff, c.Apply(F::kPow, {s, number(-param().beta)})});
  const int terms = c.Apply(F::kTrueDiv, {c.Apply(F::kMul, {direct, rows}), s});
  MatrixMulParam of_holders;
  of_holders.transposeA = true;
  const int sums = c.Add<MatrixMul>(of_holders, {matrix, terms});
  const int weighed =
      c.Apply(F::kMul, {c.Apply(F::kMul, {rows, number(2 * factor * param().beta)}), sums});
  return std::move(c).Finish({c.Reshaped(c.Apply(F::kSub, {direct, weighed}), x.shape)});
}

absl::StatusOr<std::vector<int>> SoftmaxBackward::Compose(GraphBuilder& builder,
                                                          absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const int products = c.Apply(F::kMul, {inputs[kY], inputs[kDiff]});
  const int sums = c.Add<Reduce>({ReduceMode::kSum, param().axis}, {products});
  const int differences = c.Apply(F::kSub, {inputs[kDiff], sums});
  return std::move(c).Finish({c.Apply(F::kMul, {inputs[kY], differences})});
}

absl::StatusOr<std::vector<int>> CrossEntropy::Compose(GraphBuilder& builder,
                                                       absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType logits = c.type(inputs[kLogits]);
  if (logits.shape[1] > kMostExactInFloat) return std::vector<int>();
  const int logs = c.Add<LogSoftmax>({-1}, {inputs[kLogits]});
  const int chosen = c.Apply(F::kMul, {AddChosen(c, inputs[kLabels], logits), logs});
  const int rows = c.Add<Reduce>({ReduceMode::kSum, 1}, {chosen});
  const int mean = c.Reshaped(c.Add<Reduce>({ReduceMode::kMean, 0}, {rows}), {1});
  return std::move(c).Finish({c.Converted(c.Apply(F::kNegate, {mean}), logits.dtype)});
}

absl::StatusOr<std::vector<int>> CrossEntropyBackward::Compose(GraphBuilder& builder,
                                                               absl::Span<const int> inputs) const {
  using F = ScalarFunction;
  Composition c(builder);
  const TensorType logits = c.type(inputs[kLogits]);
  if (logits.shape[1] > kMostExactInFloat) return std::vector<int>();
  const int weights = c.Add<Softmax>({-1}, {inputs[kLogits]});
  const int difference = c.Apply(F::kSub, {weights, AddChosen(c, inputs[kLabels], logits)});
  const int diff = c.Converted(inputs[kDiff], c.type(weights).dtype);
  const double rows = static_cast<double>(logits.shape[0]);
  const int share = c.Apply(F::kMul, {diff, c.Constant(c.type(diff).dtype, 1 / rows)});
  return std::move(c).Finish({c.Converted(c.Apply(F::kMul, {difference, share}), logits.dtype)});
}

}  // namespace ashlar
