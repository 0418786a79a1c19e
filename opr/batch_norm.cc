#include "opr/batch_norm.h"

#include <cmath>

#include "opr/base/aliasing.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(BatchNorm)

namespace {

constexpr const char* kInputNames[] = {"x", "scale", "bias", "mean", "variance"};

// Returns the affine map of statistics and parameters, in double.
ChannelAffine Coefficients(const HostTensor& scale, const HostTensor& bias, const HostTensor& mean,
                           const HostTensor& variance, double epsilon) {
  ChannelAffine affine;
  affine.input = BatchNorm::kX;
  for (int64_t c = 0; c < scale.num_elements(); ++c) {
    affine.scale.push_back(scale.At(c) / std::sqrt(variance.At(c) + epsilon));
    affine.shift.push_back(bias.At(c) - mean.At(c) * affine.scale[c]);
  }
  return affine;
}

}  // namespace

Shape OnePerChannel(const Shape& x) {
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) shape.push_back(i == 1 ? x[1] : 1);
  return shape;
}

absl::Status CheckNormalised(const TensorType& x, double epsilon) {
  if (x.shape.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("x is ", x.shape.ToString(), ", expected rank 2 or more (N, C, ...)"));
  }
  if (epsilon >= 0 && !std::isinf(epsilon)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("epsilon is ", epsilon, ", expected a number of at least 0"));
}

absl::Status CheckOnePerChannel(absl::string_view name, const TensorType& type,
                                const TensorType& x) {
  ASHLAR_RETURN_IF_ERROR(CheckDType(name, type, x.dtype));
  const int64_t channels = x.shape[1];
  if (type.shape == Shape{channels} || type.shape == OnePerChannel(x.shape)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(name, " is ", type.ToString(), ", expected {",
                                                 channels, "}: one for each channel of x"));
}

absl::StatusOr<std::vector<TensorType>> BatchNorm::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 5));
  const TensorType& x = inputs[kX].type;
  const DType dtype = x.dtype == DType::kFloat64 ? x.dtype : DType::kFloat32;
  ASHLAR_RETURN_IF_ERROR(CheckDType("x", x, dtype));
  ASHLAR_RETURN_IF_ERROR(CheckNormalised(x, param().epsilon));
  for (int i = kScale; i <= kVariance; ++i) {
    ASHLAR_RETURN_IF_ERROR(CheckOnePerChannel(kInputNames[i], inputs[i].type, x));
  }
  return std::vector<TensorType>{{dtype, x.shape}};
}

absl::StatusOr<std::vector<HostTensor>> BatchNorm::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[kX];
  const ChannelAffine affine = Coefficients(inputs[kScale], inputs[kBias], inputs[kMean],
                                            inputs[kVariance], param().epsilon);
  const int64_t channels = x.shape()[1];
  const int64_t plane = x.num_elements() / (x.shape()[0] * channels);
  std::vector<double> values = ToDoubles(x);
  double* value = values.data();
  for (int64_t nc = 0; nc < x.shape()[0] * channels; ++nc) {
    const double scale = affine.scale[nc % channels];
    const double shift = affine.shift[nc % channels];
    for (int64_t i = 0; i < plane; ++i, ++value) *value = *value * scale + shift;
  }
  return std::vector<HostTensor>{FromDoubles(x.dtype(), x.shape(), values)};
}

Aliasing BatchNorm::aliasing(const Site& site) const { return OverwritesInput(kX, site); }

std::optional<ChannelAffine> BatchNorm::AsChannelAffine(absl::Span<const InputInfo> inputs) const {
  for (int i = kScale; i <= kVariance; ++i) {
    if (inputs[i].value == nullptr || !inputs[i].value->has_data()) return std::nullopt;
  }
  return Coefficients(*inputs[kScale].value, *inputs[kBias].value, *inputs[kMean].value,
                      *inputs[kVariance].value, param().epsilon);
}

QuantizationRule BatchNorm::quantization_rule(const Site& site) const {
  const bool known =
      site.inputs[kX].type.dtype == DType::kFloat32 && AsChannelAffine(site.inputs).has_value();
  return known ? QuantizationRule::kFollows : QuantizationRule::kFloats;
}

std::optional<std::vector<Region>> BatchNorm::InputRegions(const Region& output,
                                                           const Site& site) const {
  if (output[1] != Range{0, site.outputs[0].shape[1]})
    return std::nullopt;  // outputs have all channels
  std::vector<Region> regions = {output};
  for (int i = kScale; i <= kVariance; ++i) {
    regions.push_back(WholeRegion(site.inputs[i].type.shape));
  }
  return regions;
}

std::optional<Region> BatchNorm::OutputRegion(int input, const Region& region,
                                              const Site& /*site*/) const {
  return input == kX ? std::optional<Region>(region) : std::nullopt;
}

}  // namespace ashlar
