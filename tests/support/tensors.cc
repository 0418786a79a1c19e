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

}  // namespace ashlar::testing
