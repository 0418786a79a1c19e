#include "opr/top_k.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

TEST(TopK, GivesTheFirstOfASortedAxis) {
  ForSeeds(80, [](int seed, Random& random) {
    const bool largest = seed % 2 == 0;
    const HostTensor x = RandomTensor(random, RandomShape(random, 1, 4, 6), -9, 9);
    const auto axis = static_cast<int>(Pick(random, 0, x.shape().rank() - 1));
    const int64_t k = Pick(random, 0, x.shape()[axis]);
    const auto outputs = Value(TopK({axis, k, largest}).Evaluate({x}));
    ASSERT_EQ(outputs.size(), 2u);
    for (int64_t i = 0; i < outputs[0].num_elements(); ++i) {
      std::vector<int64_t> at = IndexOf(i, outputs[0].shape());
      const auto place = static_cast<size_t>(at[static_cast<size_t>(axis)]);
      std::vector<double> line;
      for (int64_t j = 0; j < x.shape()[axis]; ++j) {
        at[static_cast<size_t>(axis)] = j;
        line.push_back(x.At(OffsetOf(at, x.shape())));
      }
      ASSERT_EQ(outputs[0].At(i), line[static_cast<size_t>(outputs[1].At(i))]);
      std::sort(line.begin(), line.end());
      if (largest) std::reverse(line.begin(), line.end());
      ASSERT_EQ(outputs[0].At(i), line[place]);
    }
  });
}

TEST(TopK, EqualElementsComeByIndexAndNaNIsGreatest) {
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {6}, {1, NAN, 3, 1, 3, NAN});
  const auto indices = [&](bool largest) {
    return Values(Value(TopK({0, 6, largest}).Evaluate({x}))[1]);
  };
  EXPECT_EQ(indices(true), (std::vector<double>{1, 5, 2, 4, 0, 3}));
  EXPECT_EQ(indices(false), (std::vector<double>{0, 3, 2, 4, 1, 5}));
}

TEST(TopK, RefusesWhatItCannotCompute) {
  const auto make = [](int64_t axis, int64_t k) {
    return std::make_shared<const TopK>(TopKParam{axis, k});
  };
  ExpectRejected({{make(0, 1), {}, "0 inputs, expected 1"},
                  {make(2, 1), {{3, 4}}, "axis"},
                  {make(1, 5), {{3, 4}}, "k is 5, expected 0 to 4"},
                  {make(1, -1), {{3, 4}}, "k is -1, expected 0 to 4"}});
}

}  // namespace
}  // namespace ashlar::testing
