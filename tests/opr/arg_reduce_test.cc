#include "opr/arg_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

HostTensor Line(std::vector<float> values) {
  return HostTensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())},
                                       values);
}

TEST(ArgReduce, FindsTheExtreme) {
  ForSeeds(80, [&](int seed, Random& random) {
    const auto mode = static_cast<ArgReduceMode>(seed % 2);
    const bool last = seed / 2 % 2 == 1;
    const HostTensor x = RandomTensor(random, seed % 3 == 0 ? DType::kInt8 : DType::kFloat32,
                                      RandomShape(random, 1, 4, 6), -3, 3);
    const auto axis = static_cast<int>(Pick(random, 0, x.shape().rank() - 1));
    const HostTensor y = Evaluate(ArgReduce({mode, axis, last}), {x});
    EXPECT_EQ(y.dtype(), DType::kInt64);
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      std::vector<int64_t> at = IndexOf(i, y.shape());
      std::vector<double> line;
      for (int64_t k = 0; k < x.shape()[axis]; ++k) {
        at[static_cast<size_t>(axis)] = k;
        const double value = x.At(OffsetOf(at, x.shape()));
        line.push_back(mode == ArgReduceMode::kMax ? value : -value);
      }
      const int64_t first = std::max_element(line.begin(), line.end()) - line.begin();
      const int64_t behind = std::max_element(line.rbegin(), line.rend()) - line.rbegin();
      ASSERT_EQ(y.At(i), last ? static_cast<int64_t>(line.size()) - 1 - behind : first);
    }
  });
}

TEST(ArgReduce, OfEqualElementsTheFirstOrTheLast) {
  const HostTensor x = Line({2, 7, 7, 1, 7, 1});
  EXPECT_EQ(Evaluate(ArgReduce({ArgReduceMode::kMax, 0, false}), {x}).At(0), 1);
  EXPECT_EQ(Evaluate(ArgReduce({ArgReduceMode::kMax, 0, true}), {x}).At(0), 4);
  EXPECT_EQ(Evaluate(ArgReduce({ArgReduceMode::kMin, 0, false}), {x}).At(0), 3);
  EXPECT_EQ(Evaluate(ArgReduce({ArgReduceMode::kMin, 0, true}), {x}).At(0), 5);
}

TEST(ArgReduce, ANaNIsMoreThanAnything) {
  const HostTensor x = Line({2, NAN, 7, NAN, 1});
  for (const ArgReduceMode mode : {ArgReduceMode::kMax, ArgReduceMode::kMin}) {
    EXPECT_EQ(Evaluate(ArgReduce({mode, 0, false}), {x}).At(0), 1);
    EXPECT_EQ(Evaluate(ArgReduce({mode, 0, true}), {x}).At(0), 3);
  }
}

TEST(ArgReduce, RefusesWhatItCannotCompute) {
  const auto make = [](int64_t axis) {
    return std::make_shared<const ArgReduce>(ArgReduceParam{ArgReduceMode::kMax, axis});
  };
  ExpectRejected({{make(0), {}, "0 inputs, expected 1"},
                  {make(2), {{3, 4}}, "axis"},
                  {make(0), {{0, 4}}, "at least one along axis 0"}});
}

}  // namespace
}  // namespace ashlar::testing
