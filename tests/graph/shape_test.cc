#include "graph/shape.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/status.h"

namespace ashlar {
namespace {

using ::ashlar::testing::FailsWith;
using ::ashlar::testing::IsOk;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(ShapeTest, MakeChecks) {
  const struct {
    std::vector<int64_t> dims;
    const char* error;
  } kCases[] = {
      {{-1}, "negative dimension in {-1}"},
      {{0, -1}, "negative dimension"},
      {{std::numeric_limits<int64_t>::min()}, "negative dimension"},
      {{kMax}, "is larger than"},
      {{kMax, kMax, kMax}, "is larger than"},
      {{2147483647, 2147483647}, "is larger than"},
      {{int64_t{1} << 32, int64_t{1} << 32}, "is larger than"},  // a product of 0 modulo 2^64
      {{0, int64_t{1} << 62}, "is larger than"},
      {{int64_t{1} << 38}, "is larger than"},
      {std::vector<int64_t>(9, 1), "shape of rank 9, at most 8 allowed"},
      {std::vector<int64_t>(10000, 1), "shape of rank 10000"},
  };
  for (const auto& c : kCases) EXPECT_TRUE(FailsWith(Shape::Make(c.dims).status(), c.error));
  EXPECT_TRUE(IsOk(Shape::Make({int64_t{1} << 37}).status()));
  EXPECT_TRUE(IsOk(Shape::Make({0, 1 << 20}).status()));
  EXPECT_TRUE(IsOk(Shape::Make({}).status()));
}

TEST(ShapeTest, CountsElements) {
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ((Shape{2, 0, 5}).num_elements(), 0);
  EXPECT_EQ((Shape{10, 3, 224, 224}).num_elements(), 1505280);
  EXPECT_EQ((Shape{10, 3}).ToString(), "{10,3}");
}

TEST(ShapeTest, Broadcasts) {
  const struct {
    Shape a, b, result;
  } kCases[] = {
      {{2, 3}, {3}, {2, 3}}, {{2, 1}, {1, 3}, {2, 3}}, {{}, {4, 5}, {4, 5}},
      {{1}, {4, 5}, {4, 5}}, {{0, 1}, {1, 3}, {0, 3}}, {{8, 1, 6, 1}, {7, 1, 5}, {8, 7, 6, 5}},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(*Broadcast(c.a, c.b), c.result);
    EXPECT_EQ(*Broadcast(c.b, c.a), c.result);
  }
  EXPECT_TRUE(FailsWith(Broadcast({2, 3}, {2}).status(), "{2,3} and {2} do not broadcast"));
  EXPECT_TRUE(FailsWith(Broadcast({0}, {2}).status(), "do not broadcast"));
  EXPECT_TRUE(FailsWith(Broadcast({1 << 20, 1}, {1 << 20}).status(), "is larger than"));
}

TEST(TensorTypeTest, BytesOfFormats) {
  TensorType image{DType::kFloat32, {2, 40, 3, 5}};
  EXPECT_EQ(image.bytes(), 2 * 40 * 15 * 4);
  EXPECT_EQ(image.ToString(), "Float32{2,40,3,5}");
  image.format = Format::kNCHW16c;
  EXPECT_EQ(image.bytes(), 2 * 48 * 15 * 4);
  EXPECT_EQ(image.ToString(), "Float32{2,40,3,5}:NCHW16c");
  image.format = Format::kNHCW16c;
  EXPECT_EQ(image.bytes(), 2 * 48 * 15 * 4);
  EXPECT_EQ(image.ToString(), "Float32{2,40,3,5}:NHCW16c");
  image.format = Format::kNHWC;
  EXPECT_EQ(image.bytes(), 2 * 40 * 15 * 4);
  EXPECT_EQ(image.ToString(), "Float32{2,40,3,5}:NHWC");
}

TEST(TensorTypeTest, StridesOfFormats) {
  const Shape shape = {2, 40, 3, 5};
  EXPECT_EQ(StridesOf({DType::kFloat32, shape}), (ImageStrides{600, 15, 5, 1}));
  EXPECT_EQ(StridesOf({DType::kFloat32, shape, Format::kNCHW16c}),
            (ImageStrides{720, 240, 80, 16}));
  EXPECT_EQ(StridesOf({DType::kFloat32, shape, Format::kNHCW16c}),
            (ImageStrides{720, 80, 240, 16}));
  EXPECT_EQ(StridesOf({DType::kFloat32, shape, Format::kNHWC}), (ImageStrides{600, 1, 200, 40}));
}

TEST(DTypeTest, NamesAndSizes) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(*ParseDType(Name(dtype)), dtype);
    EXPECT_EQ(DTypeNames()[i], Name(dtype));
  }
  EXPECT_EQ(SizeOf(DType::kBFloat16), 2);
  EXPECT_EQ(SizeOf(DType::kInt64), 8);
  EXPECT_TRUE(FailsWith(ParseDType("Float8").status(), "unknown dtype 'Float8'"));
}

}  // namespace
}  // namespace ashlar
