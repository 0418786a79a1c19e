#include "tests/support/tensors.h"

#include <algorithm>
#include <cmath>

namespace ashlar::testing {

HostTensor RandomTensor(std::mt19937_64& random, DType dtype, const Shape& shape, double low,
                        double high) {
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  std::uniform_real_distribution<double> uniform(low, high);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, uniform(random));
  return tensor;
}

HostTensor RandomTensor(std::mt19937_64& random, const Shape& shape, double low, double high) {
  return RandomTensor(random, DType::kFloat32, shape, low, high);
}

::testing::AssertionResult Near(const HostTensor& actual, const std::vector<double>& expected,
                                double tolerance) {
  if (actual.num_elements() != static_cast<int64_t>(expected.size())) {
    return ::testing::AssertionFailure()
           << actual.num_elements() << " elements, expected " << expected.size();
  }
  int64_t wrong = 0, worst_at = 0;
  double worst = 0;
  for (int64_t i = 0; i < actual.num_elements(); ++i) {
    const double got = actual.At(i), want = expected[i];
    if (got == want || (std::isnan(got) && std::isnan(want))) continue;
    double error = std::abs(got - want) / std::max(1.0, std::abs(want));
    if (std::isnan(error)) error = INFINITY;
    wrong += error > tolerance;
    if (error > worst) {
      worst = error;
      worst_at = i;
    }
  }
  if (wrong == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << wrong << " of " << expected.size() << " elements are off by more than " << tolerance
         << ", the worst by " << worst << ": element " << worst_at << " of "
         << actual.shape().ToString().c_str() << " is " << actual.At(worst_at) << ", expected "
         << expected[worst_at];
}

::testing::AssertionResult Near(const HostTensor& actual, const HostTensor& expected,
                                double tolerance) {
  if (actual.shape() != expected.shape() || actual.dtype() != expected.dtype()) {
    return ::testing::AssertionFailure()
           << "shape " << actual.shape().ToString() << ", expected " << expected.shape().ToString();
  }
  return Near(actual, Values(expected), tolerance);
}

HostTensor InDType(const HostTensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  HostTensor converted = HostTensor::Zeros(dtype, tensor.shape());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) converted.Set(i, tensor.At(i));
  return converted;
}

std::vector<double> Values(const HostTensor& tensor) {
  std::vector<double> values(tensor.num_elements());
  for (int64_t i = 0; i < tensor.num_elements(); ++i) values[i] = tensor.At(i);
  return values;
}

double LargestDifference(const HostTensor& got, const HostTensor& want) {
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    const double difference = std::abs(got.At(i) - want.At(i));
    if (!(difference <= worst)) worst = difference;
    largest = std::max(largest, std::abs(want.At(i)));
  }
  return worst / largest;
}

std::vector<int64_t> IntegerEdges(DType dtype) {
  const int bits = static_cast<int>(8 * SizeOf(dtype));
  const bool has_signs = !IsUnsigned(dtype);
  if (dtype == DType::kUint64) {  // as bits
    return {0, 1, 2, 3, (int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN, INT64_MIN + 1, -2, -1};
  }
  const int64_t most = static_cast<int64_t>(~uint64_t{0} >> (64 - bits + has_signs));
  const int64_t least = has_signs ? -most - 1 : 0;
  std::vector<int64_t> edges = {least, least + 1, most, most - 1};
  constexpr int64_t kExact = int64_t{1} << 53;
  for (const int64_t number : {-kExact - 1, int64_t{-3}, int64_t{-2}, int64_t{-1}, int64_t{0},
                               int64_t{1}, int64_t{2}, int64_t{3}, kExact + 1}) {
    if (number > least && number < most) edges.push_back(number);
  }
  return edges;
}

HostTensor AnyIntegers(std::mt19937_64& random, DType dtype, const Shape& shape) {
  const std::vector<int64_t> edges = IntegerEdges(dtype);
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const uint64_t bits = random();
    tensor.SetInteger(i, i % 2 == 0 ? edges[bits % edges.size()] : static_cast<int64_t>(bits));
  }
  return tensor;
}

}  // namespace ashlar::testing
