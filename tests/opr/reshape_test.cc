#include "opr/reshape.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

absl::StatusOr<Shape> Inferred(const Shape& x, const HostTensor& target, int64_t axis = kNoAxis) {
  const Reshape op({axis});
  auto types = op.Infer({{{DType::kFloat32, x}}, {{target.dtype(), target.shape()}, &target}});
  if (!types.ok()) return types.status();
  return (*types)[0].shape;
}

TEST(Reshape, Deduces) {
  EXPECT_EQ(*Inferred({10, 2048, 1, 1}, Int32Vector({10, -1}), 1), (Shape{10, 2048}));
  EXPECT_EQ(*Inferred({10, 2048, 1, 1}, Int32Vector({10, -1}), -1), (Shape{10, 2048}));
  EXPECT_EQ(*Inferred({2, 3, 4}, Int64Vector({-1})), (Shape{24}));
  EXPECT_EQ(*Inferred({2, 3, 4}, Int64Vector({4, 3, 2})), (Shape{4, 3, 2}));
  EXPECT_EQ(*Inferred({1}, Int64Vector({})), Shape());
  EXPECT_EQ(*Inferred({0, 3}, Int64Vector({3, 0})), (Shape{3, 0}));
  EXPECT_EQ(*Inferred({0, 3}, Int64Vector({-1, 3})), (Shape{0, 3}));
}

TEST(Reshape, KeepsElementsInOrder) {
  Random random(1);
  const HostTensor x = RandomTensor(random, DType::kInt32, {3, 4, 5}, -100, 100);
  const HostTensor y = Evaluate(Reshape(ReshapeParam()), {x, Int32Vector({5, -1})});
  EXPECT_TRUE(Near(y, Values(x), 0));
}

TEST(Reshape, RefusesWhatDoesNotFit) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const struct {
    std::vector<int64_t> target;
    int64_t axis;
    const char* error;
  } kCases[] = {
      {{-1, -1}, kNoAxis, "{-1,-1} has more than one -1"},
      {{5, 5}, kNoAxis, "{5,5} has 25 elements, shape {2,3,4} has 24"},
      {{5, -1}, kNoAxis, "-1 cannot be deduced from shape {2,3,4}"},
      {{0, -1}, kNoAxis, "-1 cannot be deduced"},
      {{24, 0}, kNoAxis, "has 0 elements"},
      {{-2, -12}, kNoAxis, "negative dimension"},
      {{kMin, 1}, kNoAxis, "negative dimension"},
      {{kMax, 2}, kNoAxis, "is larger than"},
      {{kMax, kMax}, kNoAxis, "is larger than"},
      {{int64_t{1} << 32, int64_t{1} << 32}, kNoAxis, "is larger than"},
      {{kMax, -1}, kNoAxis, "is larger than"},
      {{1, 1, 1, 1, 1, 1, 1, 1, 24}, kNoAxis, "vector of at most 8 elements"},
      {{4, 6}, 1, "dimension 1 is to be deduced"},
      {{-1, 6}, 1, "dimension 1 is to be deduced"},
      {{4, -1}, 2, "axis 2 is out of range"},
  };
  for (const auto& c : kCases) {
    EXPECT_TRUE(FailsWith(Inferred({2, 3, 4}, Int64Vector(c.target), c.axis).status(), c.error));
  }
  const HostTensor matrix = HostTensor::Zeros(DType::kInt32, {2, 2});
  EXPECT_TRUE(FailsWith(Inferred({4}, matrix).status(), "is Int32{2,2}, expected a vector"));
  const HostTensor floats = HostTensor::Zeros(DType::kFloat32, {2});
  EXPECT_TRUE(FailsWith(Inferred({4}, floats).status(), "expected Int32 or Int64"));
  const Reshape op(ReshapeParam{});
  const InputInfo x{{DType::kFloat32, {4}}};
  EXPECT_TRUE(FailsWith(op.Infer({x}).status(), "1 inputs, expected 2"));
  EXPECT_TRUE(FailsWith(op.Infer({x, {{DType::kInt32, {1}}}}).status(), "known before the run"));
}

TEST(Reshape, IsAViewOfRowMajorTensors) {
  const HostTensor target = Int32Vector({2, 16});
  const InputInfo shape{{DType::kInt32, {2}}, &target};
  const TensorType y{DType::kFloat32, {2, 16}};
  TensorType x{DType::kFloat32, {2, 16, 1, 1}};
  EXPECT_TRUE(ViewOf(Reshape(ReshapeParam()), {{{x}, shape}, {y}}));
  x.format = Format::kNCHW16c;
  EXPECT_FALSE(ViewOf(Reshape(ReshapeParam()), {{{x}, shape}, {y}}));
}

TEST(Reshape, ItsTargetIsNoDeviceInput) {
  const TensorType x{DType::kFloat32, {10, 2048, 1, 1}}, y{DType::kFloat32, {10, 2048}};
  const Footprint footprint =
      FootprintOf(Reshape({1}), OwnedSite{{{x}, {{DType::kInt32, {2}}}}, {y}});
  EXPECT_EQ(footprint.memory, 163840);  // operator 840 of MegEngine's dump
  EXPECT_EQ(footprint.computation, 0);
}

}  // namespace
}  // namespace ashlar::testing
