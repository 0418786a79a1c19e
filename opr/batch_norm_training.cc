#include "opr/batch_norm_training.h"

#include <cmath>

#include "graph/graph_builder.h"
#include "opr/aliasing.h"
#include "opr/checks.h"
#include "opr/composition.h"
#include "opr/doubles.h"
#include "opr/elemwise.h"
#include "opr/gradient.h"
#include "opr/operands.h"
#include "opr/saturating_product.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(BatchNormTraining)
ASHLAR_MAKE_FROM_PARAMS(BatchNormStatistics)
ASHLAR_MAKE_FROM_PARAMS(BatchNormApply)
ASHLAR_MAKE_FROM_PARAMS(BatchNormBackward)

namespace {

// A loop over the elements of [N, C, ...] that passes each element's channel.
struct Channels {
  explicit Channels(const Shape& x)
      : count(x[1]), plane(x.num_elements() / (x[0] * x[1])), elements(x.num_elements()) {}

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (int64_t i = 0; i < elements; ++i) visit(static_cast<size_t>(i), i / plane % count);
  }
  double per_channel() const { return static_cast<double>(elements / count); }

  int64_t count, plane, elements;
};

// Returns for each channel the mean of value(element) over its elements.
template <typename Value>
std::vector<double> Means(const Channels& channels, const Value& value) {
  std::vector<double> sums(static_cast<size_t>(channels.count));
  channels.ForEach([&](size_t i, int64_t c) { sums[c] += value(i, c); });
  for (double& sum : sums) sum /= channels.per_channel();
  return sums;
}

struct Statistics {
  std::vector<double> mean, variance;  // by channel
};

Statistics StatisticsOf(const HostTensor& tensor) {
  const Channels channels(tensor.shape());
  const std::vector<double> x = ToDoubles(tensor);
  Statistics s;
  s.mean = Means(channels, [&](size_t i, int64_t) { return x[i]; });
  s.variance =
      Means(channels, [&](size_t i, int64_t c) { return (x[i] - s.mean[c]) * (x[i] - s.mean[c]); });
  return s;
}

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

absl::Status CheckX(const TensorType& x, double epsilon) {
  ASHLAR_RETURN_IF_ERROR(CheckFloat("x", x));
  ASHLAR_RETURN_IF_ERROR(CheckNotEmpty("x", x));
  return CheckNormalised(x, epsilon);
}

absl::Status CheckAs(absl::string_view name, const TensorType& type, const TensorType& x) {
  if (type.dtype == x.dtype && type.shape == x.shape) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", type.ToString(), ", expected x's type, ", x.ToString()));
}

absl::Status CheckMost(double most) {
  if (most >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("most is ", most, ", expected 0 or more"));
}

Aliasing OverwritesEither(int first, int second, const Site& site) {
  Aliasing aliasing = OverwritesInput(first, site);
  const Aliasing other = OverwritesInput(second, site);
  aliasing.overwrites.insert(aliasing.overwrites.end(), other.overwrites.begin(),
                             other.overwrites.end());
  return aliasing;
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> BatchNormTraining::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  const TensorType& x = inputs[kX].type;
  ASHLAR_RETURN_IF_ERROR(CheckX(x, param().epsilon));
  ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel("scale", inputs[kScale].type, x));
  ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel("bias", inputs[kBias].type, x));
  const TensorType statistic{x.dtype, OnePerChannel(x.shape)};
  return std::vector<TensorType>{{x.dtype, x.shape}, statistic, statistic};
}

absl::StatusOr<std::vector<HostTensor>> BatchNormTraining::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[kX].shape();
  const DType dtype = inputs[kX].dtype();
  const Statistics s = StatisticsOf(inputs[kX]);
  HostTensor y = HostTensor::Zeros(dtype, shape);
  Channels(shape).ForEach([&](size_t i, int64_t c) {
    const double factor = inputs[kScale].At(c) / std::sqrt(s.variance[c] + param().epsilon);
    const auto at = static_cast<int64_t>(i);
    y.Set(at, (inputs[kX].At(at) - s.mean[c]) * factor + inputs[kBias].At(c));
  });
  const Shape statistic = OnePerChannel(shape);
  return std::vector<HostTensor>{std::move(y), FromDoubles(dtype, statistic, s.mean),
                                 FromDoubles(dtype, statistic, s.variance)};
}

int64_t BatchNormTraining::Computation(const Site& site) const {
  // Sum; difference, square and sum; difference, product and sum.
  return SaturatingProduct({site.outputs[kY].shape.num_elements(), 7});
}

Aliasing BatchNormTraining::aliasing(const Site& site) const { return OverwritesInput(kX, site); }

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

absl::StatusOr<std::vector<TensorType>> BatchNormStatistics::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  ASHLAR_RETURN_IF_ERROR(CheckX(x, /*epsilon=*/0));
  return std::vector<TensorType>(2, {x.dtype, OnePerChannel(x.shape)});
}

absl::StatusOr<std::vector<HostTensor>> BatchNormStatistics::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Statistics s = StatisticsOf(inputs[0]);
  const Shape shape = OnePerChannel(inputs[0].shape());
  return std::vector<HostTensor>{FromDoubles(inputs[0].dtype(), shape, s.mean),
                                 FromDoubles(inputs[0].dtype(), shape, s.variance)};
}

absl::StatusOr<std::vector<int>> BatchNormStatistics::Compose(GraphBuilder& builder,
                                                              absl::Span<const int> inputs) const {
  ChannelComposition c(builder, inputs[0]);
  const int mean = c.Mean(inputs[0]);
  const int centred = c.Apply(ScalarFunction::kSub, {inputs[0], mean});
  const int variance = c.Mean(c.Apply(ScalarFunction::kMul, {centred, centred}));
  return std::move(c).Finish({mean, variance});
}

int64_t BatchNormStatistics::Computation(const Site& site) const {
  return SaturatingProduct({site.inputs[0].type.shape.num_elements(), 4});
}

absl::StatusOr<std::vector<TensorType>> BatchNormApply::Infer(
    absl::Span<const InputInfo> inputs) const {
  static constexpr const char* kNames[] = {"x", "scale", "bias", "mean", "variance"};
  ASHLAR_RETURN_IF_ERROR(
      CheckInputCount(inputs, inputs.size() > kAddend ? kAddend + 1 : std::size(kNames)));
  const TensorType& x = inputs[kX].type;
  ASHLAR_RETURN_IF_ERROR(CheckX(x, param().epsilon));
  for (int i = kScale; i <= kVariance; ++i) {
    ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel(kNames[i], inputs[i].type, x));
  }
  if (inputs.size() > kAddend) ASHLAR_RETURN_IF_ERROR(CheckAs("addend", inputs[kAddend].type, x));
  ASHLAR_RETURN_IF_ERROR(CheckMost(param().most));
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> BatchNormApply::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[kX];
  HostTensor y = HostTensor::Zeros(x.dtype(), x.shape());
  Channels(x.shape()).ForEach([&](size_t i, int64_t c) {
    const double factor =
        inputs[kScale].At(c) / std::sqrt(inputs[kVariance].At(c) + param().epsilon);
    const auto at = static_cast<int64_t>(i);
    double value = (x.At(at) - inputs[kMean].At(c)) * factor + inputs[kBias].At(c);
    if (inputs.size() > kAddend) value += inputs[kAddend].At(at);
    if (param().rectified) value = formulas::Clamp(value, 0.0, UpperBound(param().most));
    y.Set(at, value);
  });
  return std::vector<HostTensor>{std::move(y)};
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
    if (inputs.size() > kAddend || !CheckAs("addend", addend, x).ok()) return std::nullopt;
    operands.push_back(FromConsumer(index));
  }
  return Replacement{std::make_shared<const BatchNormApply>(fused), std::move(operands)};
}

int64_t BatchNormApply::Computation(const Site& site) const {
  const int64_t of_element = 3 + (site.inputs.size() > kAddend) + param().rectified;
  return SaturatingProduct({site.outputs[0].shape.num_elements(), of_element});
}

Aliasing BatchNormApply::aliasing(const Site& site) const {
  return OverwritesEither(kX, kAddend, site);
}

absl::StatusOr<std::vector<TensorType>> BatchNormBackward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, inputs.size() > kBias ? kBias + 1 : kBias));
  const TensorType &x = inputs[kX].type, &diff = inputs[kDiff].type, &scale = inputs[kScale].type;
  ASHLAR_RETURN_IF_ERROR(CheckX(x, param().epsilon));
  ASHLAR_RETURN_IF_ERROR(CheckAs("diff", diff, x));
  ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel("mean", inputs[kMean].type, x));
  ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel("variance", inputs[kVariance].type, x));
  ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel("scale", scale, x));
  if (inputs.size() > kBias) {
    ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel("bias", inputs[kBias].type, x));
  }
  ASHLAR_RETURN_IF_ERROR(CheckMost(param().most));
  const TensorType of_scale{x.dtype, scale.shape};
  return std::vector<TensorType>{{x.dtype, x.shape}, of_scale, of_scale};
}

absl::StatusOr<std::vector<HostTensor>> BatchNormBackward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& shape = inputs[kX].shape();
  const DType dtype = inputs[kX].dtype();
  const Channels channels(shape);
  std::vector<double> diff = ToDoubles(inputs[kDiff]);
  std::vector<double> inverse(static_cast<size_t>(channels.count));
  for (int64_t c = 0; c < channels.count; ++c) {
    inverse[c] = 1 / std::sqrt(inputs[kVariance].At(c) + param().epsilon);
  }
  std::vector<double> normalised = ToDoubles(inputs[kX]);
  channels.ForEach([&](size_t i, int64_t c) {
    normalised[i] = (normalised[i] - inputs[kMean].At(c)) * inverse[c];
  });
  if (inputs.size() > kBias) {
    const double most = UpperBound(param().most);
    channels.ForEach([&](size_t i, int64_t c) {
      const double y = normalised[i] * inputs[kScale].At(c) + inputs[kBias].At(c);
      if (!(y > 0 && y < most)) diff[i] = 0;
    });
  }
  std::vector<double> dscale =
      Means(channels, [&](size_t i, int64_t) { return diff[i] * normalised[i]; });
  std::vector<double> dbias = Means(channels, [&](size_t i, int64_t) { return diff[i]; });
  HostTensor dx = HostTensor::Zeros(dtype, shape);
  channels.ForEach([&](size_t i, int64_t c) {
    dx.Set(static_cast<int64_t>(i),
           inputs[kScale].At(c) * inverse[c] * (diff[i] - dbias[c] - normalised[i] * dscale[c]));
  });
  for (double& mean : dscale) mean *= channels.per_channel();
  for (double& mean : dbias) mean *= channels.per_channel();
  const Shape& of_scale = inputs[kScale].shape();
  return std::vector<HostTensor>{std::move(dx), FromDoubles(dtype, of_scale, dscale),
                                 FromDoubles(dtype, of_scale, dbias)};
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

int64_t BatchNormBackward::Computation(const Site& site) const {
  // Sum; difference, product and sum; two products and sums with constants of the channel.
  return SaturatingProduct({site.outputs[kDX].shape.num_elements(), 9});
}

Aliasing BatchNormBackward::aliasing(const Site& site) const {
  return OverwritesEither(kDiff, kX, site);
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

}  // namespace ashlar
