#include "opr/lrn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr Make(LRNParam param) { return std::make_shared<const LRN>(param); }

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
    EXPECT_TRUE(Near(Evaluate(*Make(p), {x}), expected, 1e-6));
  }
}

TEST(LRN, RefusesWhatItCannotCompute) {
  ExpectRejected({
      {Make({}), {{1, 3, 8}}, "expected rank 4"},
      {Make({.size = 0}), {{1, 3, 8, 8}}, "size is 0, expected 1 to"},
      {Make({.size = int64_t{1} << 62}), {{1, 3, 8, 8}}, "size is 4611686018427387904"},
  });
}

}  // namespace
}  // namespace ashlar::testing
