#include "opr/resize_bytes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "opr/base/host_value.h"
#include "tests/opr/parts.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using Coordinates = ResizeCoordinates;

constexpr Coordinates kCoordinates[] = {Coordinates::kHalfPixel, Coordinates::kAlignCorners,
                                        Coordinates::kAsymmetric};

ResizeParam Param(Coordinates coordinates = Coordinates::kHalfPixel) {
  ResizeParam param;
  param.axes = {2, 3};
  param.mode = ResizeMode::kLinear;
  param.coordinates = coordinates;
  return param;
}

// Returns an image of these bytes.
HostTensor Bytes(const Shape& shape, const std::vector<double>& values, bool is_signed = true) {
  const DType dtype = is_signed ? DType::kQuantizedS8 : DType::kQuantized8Asymm;
  HostTensor tensor = HostTensor::Zeros(StoredAs(dtype), shape);
  for (size_t i = 0; i < values.size(); ++i) tensor.Set(static_cast<int64_t>(i), values[i]);
  return tensor.As(dtype, Value(Quantization::Make(dtype, {0.5f}, 3)));
}

HostTensor RandomBytes(Random& random, const Shape& shape, bool is_signed) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(static_cast<double>(Pick(random, 0, 255) - (is_signed ? 128 : 0)));
  }
  return Bytes(shape, values, is_signed);
}

// One axis by XNNPACK's text (xnn_indirection_init_resize_bilinear2d_hwc_q11), in Float32.
struct Taps {
  int64_t first, second;
  int32_t weight;
};
Taps TapsOf(Coordinates coordinates, int64_t input, int64_t output, int64_t o) {
  const int64_t less = coordinates == Coordinates::kAlignCorners && output != 1 ? 1 : 0;
  const float scale = static_cast<float>(input - less) / static_cast<float>(output - less);
  const volatile float scaled = static_cast<float>(o) * scale;  // not fused with the sum
  float position = scaled;
  if (coordinates == Coordinates::kHalfPixel) {
    position =
        std::min(std::max(scaled + (0.5f * scale - 0.5f), 0.0f), static_cast<float>(input - 1));
  }
  const auto first = static_cast<int64_t>(position);
  return {first, std::min(first + 1, input - 1),
          static_cast<int32_t>(std::lrint((position - static_cast<float>(first)) * 2048))};
}

TEST(ResizeBytes, IsXnnpacksArithmetic) {
  ForSeeds(300, [](int seed, Random& random) {
    const bool is_signed = seed % 2 == 0;
    const Coordinates coordinates = kCoordinates[seed % 3];
    const int64_t h = Pick(random, 1, 40), w = Pick(random, 1, 40);
    const int64_t y_size = Pick(random, 1, 90), x_size = Pick(random, 1, 90);
    const HostTensor x = RandomBytes(random, {1, 2, h, w}, is_signed);
    const HostTensor y =
        Evaluate(ResizeBytes(Param(coordinates)), {x, Int64Vector({y_size, x_size})});
    ASSERT_EQ(y.shape(), (Shape{1, 2, y_size, x_size}));
    ASSERT_EQ(y.quantization(), x.quantization());
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const Taps rows = TapsOf(coordinates, h, y_size, i / x_size % y_size);
      const Taps columns = TapsOf(coordinates, w, x_size, i % x_size);
      const auto at = [&](int64_t row, int64_t column) {
        return static_cast<int32_t>(x.At((i / x_size / y_size * h + row) * w + column));
      };
      const auto between = [&](int64_t row) {
        const int32_t left = at(row, columns.first);
        return left * 2048 + (at(row, columns.second) - left) * columns.weight;
      };
      const int32_t top = between(rows.first), bottom = between(rows.second);
      const int32_t sum = top * 2048 + (bottom - top) * rows.weight;
      ASSERT_EQ(y.At(i), (sum + (1 << 21)) >> 22) << "element " << i;
    }
  });
}

// Outputs of LiteRT (ai-edge-litert 2.3.0).
TEST(ResizeBytes, GivesTheBytesOfLiteRt) {
  const HostTensor x = Bytes({1, 1, 2, 3}, {-128, 127, 5, 90, -77, 31});
  const struct {
    Coordinates coordinates;
    std::vector<double> expected;
  } kRows[] = {
      {Coordinates::kHalfPixel, {-128, -26, 127, 54, 5, -19, -1, 25, 21, 18, 90, 23, -77, -12, 31}},
      {Coordinates::kAlignCorners, {-128, 0, 127, 66, 5, -19, 3, 25, 22, 18, 90, 7, -77, -23, 31}},
      {Coordinates::kAsymmetric, {-128, 25, 103, 29, 5, 17, 2, -3, 16, 22, 90, -10, -55, 9, 31}},
  };
  for (const auto& row : kRows) {
    EXPECT_TRUE(Near(Evaluate(ResizeBytes(Param(row.coordinates)), {x, Int64Vector({3, 5})}),
                     row.expected, 0));
  }
}

// Each slice, computed from the inputs that it names, equals that slice of the whole.
TEST(ResizeBytes, PartsAreThoseOfTheWhole) {
  ForSeeds(200, [](int seed, Random& random) {
    const HostTensor x =
        RandomBytes(random, {1, 2, Pick(random, 1, 12), Pick(random, 1, 12)}, seed % 2 == 0);
    const std::vector<HostTensor> inputs = {
        x, Int64Vector({Pick(random, 1, 20), Pick(random, 1, 20)})};
    const ResizeBytes op(Param(kCoordinates[seed % 3]));
    const HostTensor whole = Evaluate(op, inputs);
    const Part part = RandomPart(random, op, inputs, whole);
    const Region reached = *op.OutputRegion(0, part.needed, part.site);
    for (int axis : {2, 3}) EXPECT_TRUE(reached[axis].Contains(part.wanted[axis]));
    ExpectPartOfTheWhole(random, op, inputs, whole, part, 1);
  });
}

TEST(ResizeBytes, RefusesWhatItCannotCompute) {
  const HostTensor x = Bytes({1, 1, 2, 2}, {1, 2, 3, 4}), size = Int64Vector({4, 4});
  ResizeParam nearest = Param(), axes = Param(), antialias = Param(), excludes = Param();
  nearest.mode = ResizeMode::kNearest;
  axes.axes = {1, 2};
  antialias.antialias = true;
  excludes.exclude_outside = true;
  const struct {
    ResizeParam param;
    std::vector<HostTensor> inputs;
    const char* error;
  } kCases[] = {
      {nearest, {x, size}, "bytes are resized LINEAR"},
      {axes, {x, size}, "bytes are resized LINEAR"},
      {antialias, {x, size}, "bytes are resized LINEAR"},
      {excludes, {x, size}, "bytes are resized LINEAR"},
      {Param(Coordinates::kPytorchHalfPixel), {x, size}, "bytes are resized LINEAR"},
      {Param(), {HostTensor::Zeros(DType::kFloat32, {1, 1, 2, 2}), size}, "of 8 bits"},
      {Param(), {Bytes({1, 1, 0, 2}, {}), size}, ": empty"},
      {Param(), {x}, "1 inputs, expected 2"},
      {Param(), {x, Int64Vector({4, 0})}, "size 0 of axis 3"},
  };
  for (const auto& c : kCases) {
    EXPECT_TRUE(FailsWith(ResizeBytes(c.param).Infer(InfosOf(c.inputs)).status(), c.error))
        << c.error;
  }
}

}  // namespace
}  // namespace ashlar::testing
