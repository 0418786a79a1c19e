#include "serialization/megengine/seeded_weights.h"

#include <cmath>

#include "graph/random.h"

namespace ashlar {
namespace {

// 1 / (1/2 - 1/(2 pi)): the variance of a standard normal variable relative to its positive part.
constexpr double kReluGain = 2.934;
// The variance of a branch relative to the sum to which it is added.
constexpr double kResidualShare = 0.25;
constexpr double kBiasDeviation = 0.1;

int64_t ElementsOfFilter(const Shape& shape) {
  const int first = shape.rank() == 5 ? 2 : 1;
  int64_t filters = 1;
  for (int axis = 0; axis < first && axis < shape.rank(); ++axis) filters *= shape[axis];
  return filters > 1 && shape.rank() > first ? shape.num_elements() / filters : 0;
}

// Shifts and scales the filter to sum 0 and the given sum of squares, unless all values are equal.
void Standardise(absl::Span<float> filter, double square_norm) {
  double mean = 0, squares = 0;
  for (float value : filter) mean += value;
  mean /= static_cast<double>(filter.size());
  for (float value : filter) squares += (value - mean) * (value - mean);
  const double scale = squares > 0 ? std::sqrt(square_norm / squares) : 1;
  for (float& value : filter) value = static_cast<float>((value - mean) * scale);
}

}  // namespace

HostTensor SeededWeight(DType dtype, const Shape& shape, WeightUse use, uint64_t seed) {
  HostTensor weight = HostTensor::Zeros(dtype, shape);
  if (dtype != DType::kFloat32 || weight.num_elements() == 0) return weight;
  Random random(seed);
  const absl::Span<float> values = weight.mutable_data<float>();
  const int64_t taps = ElementsOfFilter(shape);
  for (float& value : values) {
    value = static_cast<float>(taps > 0 ? random.Normal() : kBiasDeviation * random.Normal());
  }
  const double norm = use == WeightUse::kResidual ? kReluGain * kResidualShare : kReluGain;
  for (int64_t first = 0; taps > 1 && first < weight.num_elements(); first += taps) {
    Standardise(values.subspan(first, taps), norm);
  }
  return weight;
}

}  // namespace ashlar
