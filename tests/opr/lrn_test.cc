#include "opr/lrn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeLrn(LRNParam param) { return std::make_shared<const LRN>(param); }

TEST(LRN, EvaluatesItsDefinition) {
  for (int64_t size = 1; size <= 8; ++size) {
    SCOPED_TRACE(size);
    std::mt19937_64 random(size);
    const LRNParam p{size, 0.3, 0.7, 1.5};
    const int64_t channels = 6, plane = 15;
    const HostTensor x = RandomTensor(random, Shape{2, channels, 3, 5}, -2, 2);
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t c = i / plane % channels;
      double sum = 0;
      for (int64_t k = -((size - 1) / 2); k <= (size - 1) - (size - 1) / 2; ++k) {
        if (c + k >= 0 && c + k < channels) sum += std::pow(x.At(i + k * plane), 2);
      }
      expected.push_back(x.At(i) / std::pow(p.bias + p.alpha / size * sum, p.beta));
    }
    EXPECT_TRUE(Near(Evaluate(*MakeLrn(p), {x}), expected, 1e-6));
  }
}

TEST(LRN, OfSixteenBitsIsRoundedOnce) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kFloat16, 5e-4), std::pair(DType::kBFloat16, 4e-3)}) {
    std::mt19937_64 random(9);
    const HostTensor x = RandomTensor(random, dtype, Shape{1, 40, 2, 3}, 100, 200);
    HostTensor wide = HostTensor::Zeros(DType::kFloat32, x.shape());
    for (int64_t i = 0; i < x.num_elements(); ++i) wide.Set(i, x.At(i));
    // The sums of squares far exceed the largest Float16.
    const LRNParam p{40, 0.001, 0.75, 1};
    const HostTensor y = Evaluate(*MakeLrn(p), {x});
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_TRUE(Near(y, Values(Evaluate(*MakeLrn(p), {wide})), tolerance));
  }
}

TEST(LRN, RefusesWhatItCannotCompute) {
  ExpectRejected({
      {MakeLrn({}), {{1, 3, 8}}, "expected rank 4"},
      {MakeLrn({.size = 0}), {{1, 3, 8, 8}}, "size is 0, expected 1 to"},
      {MakeLrn({.size = int64_t{1} << 62}), {{1, 3, 8, 8}}, "size is 4611686018427387904"},
  });
}

}  // namespace
}  // namespace ashlar::testing
