#include "opr/scatter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/opr/refusal.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr ScatterReduction kReductions[] = {ScatterReduction::kNone, ScatterReduction::kAdd,
                                            ScatterReduction::kMul, ScatterReduction::kMax,
                                            ScatterReduction::kMin};

double Combined(ScatterReduction reduction, double a, double b) {
  const double kResults[] = {b, a + b, a * b, std::fmax(a, b), std::fmin(a, b)};
  return kResults[static_cast<size_t>(reduction)];
}

TEST(ScatterElements, ChangesSingleElements) {
  ForSeeds(100, [&](int seed, Random& random) {
    const ScatterReduction reduction = kReductions[seed % 5];
    const HostTensor x = RandomTensor(random, RandomShape(random, 1, 4, 5));
    const auto axis = static_cast<int>(Pick(random, 0, x.shape().rank() - 1));
    const int64_t size = x.shape()[axis];
    Shape shape = x.shape();
    for (int i = 0; i < shape.rank(); ++i) shape[i] = Pick(random, 1, i == axis ? 7 : shape[i]);
    const HostTensor indices = RandomTensor(
        random, DType::kInt64, shape, static_cast<double>(-size), static_cast<double>(size - 1));
    const HostTensor updates = RandomTensor(random, shape);
    std::vector<double> expected = Values(x);
    for (int64_t i = 0; i < updates.num_elements(); ++i) {
      std::vector<int64_t> to = IndexOf(i, shape);
      const auto index = static_cast<int64_t>(indices.At(i));
      to[static_cast<size_t>(axis)] = index < 0 ? index + size : index;
      double& element = expected[static_cast<size_t>(OffsetOf(to, x.shape()))];
      element = Combined(reduction, element, updates.At(i));
    }
    EXPECT_TRUE(
        Near(Evaluate(ScatterElements({axis, reduction}), {x, indices, updates}), expected, 1e-6));
  });
}

TEST(ScatterND, ChangesSlices) {
  ForSeeds(100, [&](int seed, Random& random) {
    const ScatterReduction reduction = kReductions[seed % 5];
    const int64_t size = Pick(random, 2, 4);
    Shape shape;
    for (int64_t i = Pick(random, 1, 4); i > 0; --i) shape.push_back(size);
    const HostTensor x = RandomTensor(random, shape);
    const int64_t depth = Pick(random, 1, shape.rank()), count = Pick(random, 1, 4);
    const HostTensor indices =
        RandomTensor(random, DType::kInt32, {count, depth}, static_cast<double>(-size),
                     static_cast<double>(size - 1));
    Shape slices{count};
    for (int i = static_cast<int>(depth); i < shape.rank(); ++i) slices.push_back(size);
    const HostTensor updates = RandomTensor(random, slices);
    std::vector<double> expected = Values(x);
    for (int64_t i = 0; i < updates.num_elements(); ++i) {
      const std::vector<int64_t> at = IndexOf(i, slices);
      std::vector<int64_t> to;
      for (int64_t d = 0; d < depth; ++d) {
        const auto index = static_cast<int64_t>(indices.At(at[0] * depth + d));
        to.push_back(index < 0 ? index + size : index);
      }
      to.insert(to.end(), at.begin() + 1, at.end());
      double& element = expected[static_cast<size_t>(OffsetOf(to, shape))];
      element = Combined(reduction, element, updates.At(i));
    }
    EXPECT_TRUE(Near(Evaluate(ScatterND({reduction}), {x, indices, updates}), expected, 1e-6));
  });
}

TEST(ScatterND, KeepsEveryBitOfIntegers) {
  const int64_t large = (int64_t{1} << 60) + 1;
  const HostTensor y = Evaluate(
      ScatterND(ScatterNDParam()),
      {Int64Vector({large, 2}), HostTensor::FromValues<int64_t>(DType::kInt64, {1, 1}, {1}),
       Int64Vector({-large})});
  EXPECT_EQ(y.data<int64_t>()[0], large);
  EXPECT_EQ(y.data<int64_t>()[1], -large);
}

TEST(ScatterND, OverwritesWhatItChanges) {
  const TensorType x{DType::kFloat32, {4}}, i{DType::kInt64, {4, 1}};
  EXPECT_EQ(OverwrittenBy(ScatterND(ScatterNDParam()), {{{x}, {i}, {x}}, {x}}),
            std::vector<int>{0});
}

TEST(ScatterND, AnIndexOutOfRangeIsAnError) {
  const HostTensor index = HostTensor::FromValues<int64_t>(DType::kInt64, {1, 1}, {2});
  EXPECT_TRUE(FailsWith(
      ScatterND(ScatterNDParam()).Evaluate({Int64Vector({1, 2}), index, Int64Vector({3})}).status(),
      "index 2 is out of range for size 2"));
}

TEST(Scatter, RefusesWhatItCannotCompute) {
  const TensorType x{DType::kFloat32, {3, 4}}, i{DType::kInt64, {2, 1}}, u{DType::kFloat32, {2, 4}};
  const TensorType half{DType::kFloat16, {2, 4}}, flags{DType::kBool, {3, 4}};
  const TensorType flag_updates{DType::kBool, {2, 4}}, elements{DType::kInt64, {2, 4}};
  ExpectRefused(ScatterND(ScatterNDParam()), {x, i}, "2 inputs, expected 3");
  ExpectRefused(ScatterND(ScatterNDParam()), {x, u, u}, "expected Int32 or Int64");
  ExpectRefused(ScatterND(ScatterNDParam()), {x, i, x},
                "updates are Float32{3,4}, expected Float32{2,4}");
  ExpectRefused(ScatterND(ScatterNDParam()), {x, i, half}, "updates are Float16{2,4}");
  ExpectRefused(ScatterND({ScatterReduction::kAdd}), {flags, i, flag_updates},
                "ADD is not defined for Bool");
  ExpectRefused(ScatterElements({2}), {x, elements, u}, "axis");
  ExpectRefused(ScatterElements({0}), {x, elements, x}, "updates are Float32{3,4}");
}

}  // namespace
}  // namespace ashlar::testing
