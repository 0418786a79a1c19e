#include "opr/batch_norm_training.h"

#include <cmath>

#include "graph/graph_builder.h"
#include "opr/base/aliasing.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/operands.h"
#include "opr/base/saturating_product.h"
#include "opr/elemwise.h"

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

int64_t BatchNormBackward::Computation(const Site& site) const {
  // Sum; difference, product and sum; two products and sums with constants of the channel.
  return SaturatingProduct({site.outputs[kDX].shape.num_elements(), 9});
}

Aliasing BatchNormBackward::aliasing(const Site& site) const {
  return OverwritesEither(kDiff, kX, site);
}

}  // namespace ashlar
