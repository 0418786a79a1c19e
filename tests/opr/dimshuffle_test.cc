#include "opr/dimshuffle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeDimshuffle(std::vector<int64_t> pattern) {
  return std::make_shared<const Dimshuffle>(DimshuffleParam{std::move(pattern)});
}

// Returns a random order of the axes, with some of size 1 dropped and new ones inserted.
std::vector<int64_t> RandomPattern(Random& random, const Shape& shape) {
  std::vector<int64_t> pattern;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1 || Pick(random, 0, 1) == 0) pattern.push_back(axis);
  }
  std::shuffle(pattern.begin(), pattern.end(), random);
  for (int64_t n = Pick(random, 0, 2); n > 0; --n) {
    pattern.insert(pattern.begin() + Pick(random, 0, static_cast<int64_t>(pattern.size())), -1);
  }
  return pattern;
}

TEST(Dimshuffle, RandomPatterns) {
  ForSeeds(150, [](int, Random& random) {
    const DType dtype = kPlainDTypes[Pick(random, 0, std::size(kPlainDTypes) - 1)];
    const HostTensor x = RandomTensor(random, dtype, RandomShape(random, 0, 5, 4), -100, 100);
    const std::vector<int64_t> pattern = RandomPattern(random, x.shape());
    const HostTensor y = Evaluate(*MakeDimshuffle(pattern), {x});
    ASSERT_EQ(y.shape().rank(), static_cast<int>(pattern.size()));
    std::vector<double> expected;
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const std::vector<int64_t> index = IndexOf(i, y.shape());
      std::vector<int64_t> from(x.shape().rank(), 0);
      for (size_t axis = 0; axis < pattern.size(); ++axis) {
        if (pattern[axis] >= 0) from[pattern[axis]] = index[axis];
      }
      expected.push_back(x.At(OffsetOf(from, x.shape())));
    }
    EXPECT_TRUE(Near(y, expected, 0));
    // If it says that it is a view, the bytes must be the input's.
    const TensorType x_type{dtype, x.shape()}, y_type{dtype, y.shape()};
    if (ViewOf(*MakeDimshuffle(pattern), {{{x_type}}, {y_type}})) {
      EXPECT_TRUE(Near(y, Values(x), 0));
    }
  });
}

TEST(Dimshuffle, IsAViewWhenOnlyAxesOfSizeOneMove) {
  const TensorType x{DType::kFloat32, {2, 1, 3}};
  const auto view = [&](std::vector<int64_t> pattern) {
    const OperatorPtr op = MakeDimshuffle(std::move(pattern));
    return ViewOf(*op, {{{x}}, *op->Infer({{x}})}).has_value();
  };
  EXPECT_TRUE(view({0, 1, 2}));
  EXPECT_TRUE(view({1, 0, 2}));
  EXPECT_TRUE(view({0, 2, -1}));
  EXPECT_FALSE(view({2, 1, 0}));
  TensorType image{DType::kFloat32, {1, 16, 2, 2}, Format::kNCHW16c};
  EXPECT_FALSE(ViewOf(*MakeDimshuffle({1, 2, 3}), {{{image}}, {{DType::kFloat32, {16, 2, 2}}}}));
}

TEST(Dimshuffle, RefusesWhatItCannotCompute) {
  ExpectRejected({
      {MakeDimshuffle({0, 0}),
       {{2, 3}},
       "pattern {0,0} of a tensor of shape {2,3}: axis 0 is listed twice"},
      {MakeDimshuffle({0}), {{2, 3}}, "axis 1 is dropped, expected size 1"},
      {MakeDimshuffle({0, 2}), {{2, 3}}, "axis 2 is out of range"},
      {MakeDimshuffle({0, -2}), {{2, 3}}, "axis -2 is out of range"},
      {MakeDimshuffle({-1, -1, -1, -1, -1, -1, -1, -1, 0}), {{2}}, "pattern of 9 axes, at most 8"},
      {MakeDimshuffle({0}), {}, "0 inputs, expected 1"},
  });
}

}  // namespace
}  // namespace ashlar::testing
