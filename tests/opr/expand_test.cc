#include "opr/expand.h"

#include <gtest/gtest.h>

#include "opr/base/host_value.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

TEST(Expand, RepeatsAlongDimensionsOfSizeOne) {
  ForSeeds(60, [](int, Random& random) {
    const Shape output = RandomShape(random, 1, 5, 4);
    Shape shape;
    for (int axis = static_cast<int>(Pick(random, 0, output.rank())); axis < output.rank();
         ++axis) {
      shape.push_back(Pick(random, 0, 1) == 0 ? 1 : output[axis]);
    }
    // A 1 in the target keeps the dimension of x.
    std::vector<int64_t> target(output.dims().begin(), output.dims().end());
    const int leading = output.rank() - shape.rank();
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == output[leading + axis] && Pick(random, 0, 1) == 0) {
        target[static_cast<size_t>(leading + axis)] = 1;
      }
    }
    const HostTensor x = RandomTensor(random, shape);
    const HostTensor y = Evaluate(Expand(NoParam()), {x, Int64Vector(target)});
    ASSERT_EQ(y.shape(), output);
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const std::vector<int64_t> at = IndexOf(i, output);
      std::vector<int64_t> from(at.begin() + leading, at.end());
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 1) from[static_cast<size_t>(axis)] = 0;
      }
      ASSERT_EQ(y.At(i), x.At(OffsetOf(from, shape)));
    }
  });
}

TEST(Expand, AShorterTargetKeepsLeadingDimensions) {
  const HostTensor x = HostTensor::Zeros(DType::kFloat32, {2, 3, 1});
  EXPECT_EQ(Evaluate(Expand(NoParam()), {x, Int32Vector({4})}).shape(), (Shape{2, 3, 4}));
}

TEST(Expand, IsAViewWhereNothingIsRepeated) {
  const HostTensor same = Int64Vector({1, 3}), more = Int64Vector({2, 3});
  const TensorType x{DType::kFloat32, {3}}, y{DType::kFloat32, {1, 3}}, z{DType::kFloat32, {2, 3}};
  EXPECT_TRUE(ViewOf(Expand(NoParam()), {{{x}, InfoOf(same)}, {y}}).has_value());
  EXPECT_FALSE(ViewOf(Expand(NoParam()), {{{x}, InfoOf(more)}, {z}}).has_value());
}

TEST(Expand, PartsAreThoseOfTheWhole) {
  Random random(3);
  const HostTensor x = RandomTensor(random, Shape{2, 1, 5, 1}), target = Int64Vector({2, 4, 1, 6});
  const HostTensor whole = Evaluate(Expand(NoParam()), {x, target});
  const OwnedSite site{InfosOf({x, target}), {{DType::kFloat32, whole.shape()}}};
  const Region wanted = {{1, 2}, {1, 3}, {2, 5}, {0, 4}};
  const auto regions = Expand(NoParam()).InputRegions(wanted, site);
  ASSERT_TRUE(regions.has_value());
  EXPECT_EQ((*regions)[0], (Region{{1, 2}, {0, 1}, {2, 5}, {0, 1}}));
  const auto part = Expand(NoParam()).AtRegion(wanted, *regions, site);
  const HostTensor got =
      Evaluate(*part->op, {RandomTensor(random, Shape{1, 1, 3, 1}), part->operands[1].constant});
  EXPECT_EQ(got.shape(), ShapeOf(wanted));
}

TEST(Expand, RefusesWhatItCannotCompute) {
  const HostTensor x = HostTensor::Zeros(DType::kFloat32, {2, 3});
  const auto check = [&](const std::vector<InputInfo>& inputs, const char* error) {
    EXPECT_TRUE(FailsWith(Expand(NoParam()).Infer(inputs).status(), error)) << error;
  };
  const HostTensor other = Int64Vector({2, 4}), negative = Int64Vector({-1, 3}),
                   large = Int64Vector({int64_t{1} << 40, 1, 1});
  check({InfoOf(x)}, "1 inputs, expected 2");
  check({InfoOf(x), InfoOf(x)}, "expected Int32 or Int64");
  check({InfoOf(x), InfoOf(other)}, "do not broadcast");
  check({InfoOf(x), InfoOf(negative)}, "-1");
  check({InfoOf(x), InfoOf(large)}, "is larger than");
  check({InfoOf(x), {{DType::kInt64, {2}}}}, "known before the run");
}

}  // namespace
}  // namespace ashlar::testing
