#include "opr/cum_sum.h"

#include <gtest/gtest.h>

#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

TEST(CumSum, SumsWhatComesBefore) {
  ForSeeds(60, [](int seed, Random& random) {
    const bool exclusive = seed % 2 == 1, reverse = seed / 2 % 2 == 1;
    const HostTensor x = RandomTensor(random, RandomShape(random, 1, 4, 6));
    const auto axis = static_cast<int>(Pick(random, 0, x.shape().rank() - 1));
    std::vector<double> expected;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const int64_t place = IndexOf(i, x.shape())[static_cast<size_t>(axis)];
      double sum = 0;
      for (int64_t k = 0; k < x.shape()[axis]; ++k) {
        const bool counts = k == place ? !exclusive : (k < place) != reverse;
        std::vector<int64_t> at = IndexOf(i, x.shape());
        at[static_cast<size_t>(axis)] = k;
        if (counts) sum += x.At(OffsetOf(at, x.shape()));
      }
      expected.push_back(sum);
    }
    EXPECT_TRUE(Near(Evaluate(CumSum({axis, exclusive, reverse}), {x}), expected, 1e-6));
  });
}

TEST(CumSum, RefusesWhatItCannotCompute) {
  const auto op = std::make_shared<const CumSum>(CumSumParam{2});
  ExpectRejected({{op, {}, "0 inputs, expected 1"}, {op, {{3, 4}}, "axis"}});
}

}  // namespace
}  // namespace ashlar::testing
