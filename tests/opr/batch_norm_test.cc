#include "opr/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeBatchNorm(double epsilon = 1e-5) {
  return std::make_shared<const BatchNorm>(BatchNormParam{epsilon});
}

TEST(BatchNorm, EvaluatesItsDefinition) {
  const std::vector<Shape> shapes = {
      {2, 3, 5, 7}, {1, 17, 1, 1}, {4, 6}, {2, 3, 5}, {1, 2, 3, 4, 5}};
  for (size_t seed = 0; seed < shapes.size(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Shape& shape = shapes[seed];
    const int64_t channels = shape[1];
    Shape per_channel{channels};
    if (seed == 0) per_channel = {1, channels, 1, 1};
    const std::vector<HostTensor> inputs = {
        RandomTensor(random, shape), RandomTensor(random, per_channel),
        RandomTensor(random, per_channel), RandomTensor(random, per_channel),
        RandomTensor(random, per_channel, 0.1, 2)};
    std::vector<double> expected = Values(inputs[0]);
    const int64_t plane = inputs[0].num_elements() / shape[0] / channels;
    for (size_t i = 0; i < expected.size(); ++i) {
      const int64_t c = static_cast<int64_t>(i) / plane % channels;
      expected[i] =
          (expected[i] - inputs[3].At(c)) / std::sqrt(inputs[4].At(c) + 1e-3) * inputs[1].At(c) +
          inputs[2].At(c);
    }
    EXPECT_TRUE(Near(Evaluate(*MakeBatchNorm(1e-3), inputs), expected, 1e-6));
  }
}

TEST(BatchNorm, NegativeVarianceGivesNaN) {
  const HostTensor one = HostTensor::FromValues<float>(DType::kFloat32, {1}, {1});
  const HostTensor minus = HostTensor::FromValues<float>(DType::kFloat32, {1}, {-1});
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {1, 1}, {1});
  EXPECT_TRUE(std::isnan(Evaluate(*MakeBatchNorm(), {x, one, one, one, minus}).At(0)));
}

TEST(BatchNorm, RefusesWhatItCannotCompute) {
  const Shape x{1, 3, 8, 8}, c{3};
  ExpectRejected({
      {MakeBatchNorm(), {x, c, c, c}, "4 inputs, expected 5"},
      {MakeBatchNorm(), {{3}, c, c, c, c}, "x is {3}, expected rank 2 or more"},
      {MakeBatchNorm(), {x, c, c, {4}, c}, "mean is Float32{4}, expected {3}"},
      {MakeBatchNorm(), {x, c, c, c, {3, 1, 1}}, "variance is Float32{3,1,1}, expected {3}"},
      {MakeBatchNorm(-1), {x, c, c, c, c}, "epsilon is -1, expected a number of at least 0"},
      {MakeBatchNorm(NAN), {x, c, c, c, c}, "epsilon is nan"},
  });
}

}  // namespace
}  // namespace ashlar::testing
