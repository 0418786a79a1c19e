#include "opr/resize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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
using Mode = ResizeMode;
using Rounding = ResizeRounding;

HostTensor Floats(std::vector<float> values) {
  return HostTensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())},
                                       values);
}

// 1, 2, 3, ...
HostTensor Counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), 1.0f);
  return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
}

ResizeParam Param(Mode mode, Coordinates coordinates = Coordinates::kHalfPixel) {
  ResizeParam param;
  param.axes = {2, 3};
  param.mode = mode;
  param.coordinates = coordinates;
  return param;
}

// Returns one output of one axis by a second, independent formula: no tables, no filters over
// several inputs.
double Sample(const std::vector<double>& x, Mode mode, double at, double a) {
  const auto size = static_cast<int64_t>(x.size());
  const auto read = [&](double index) {
    return x[static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>(index), 0, size - 1))];
  };
  const double left = std::floor(at), t = at - left;
  if (mode == Mode::kNearest) return read(t > 0.5 ? left + 1 : left);
  if (mode == Mode::kLinear) return read(left) + t * (read(left + 1) - read(left));
  const double weights[] = {((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a,
                            ((a + 2) * t - (a + 3)) * t * t + 1,
                            ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1,
                            ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a};
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += weights[i] * read(left + i - 1);
  return sum;
}

TEST(Resize, SamplesAtItsCoordinates) {
  ForSeeds(150, [&](int seed, Random& random) {
    const int64_t size = Pick(random, 1, 9), target = Pick(random, 1, 14);
    const auto mode = static_cast<Mode>(seed % 3);
    const Coordinates kCoordinates[] = {Coordinates::kHalfPixel, Coordinates::kAlignCorners,
                                        Coordinates::kAsymmetric, Coordinates::kTfHalfPixelForNn};
    ResizeParam param = Param(mode, kCoordinates[seed / 3 % 4]);
    param.axes = {1};
    const HostTensor x = RandomTensor(random, DType::kFloat32, {2, size, 3});
    const HostTensor y = Evaluate(Resize(param), {x, Int64Vector({target})});
    ASSERT_EQ(y.shape(), (Shape{2, target, 3}));
    const double scale = static_cast<double>(target) / static_cast<double>(size);
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const int64_t n = i / (target * 3), o = i / 3 % target, k = i % 3;
      std::vector<double> line;
      for (int64_t j = 0; j < size; ++j) line.push_back(x.At((n * size + j) * 3 + k));
      double at = 0;
      if (param.coordinates == Coordinates::kHalfPixel) at = (o + 0.5) / scale - 0.5;
      if (param.coordinates == Coordinates::kAsymmetric) at = o / scale;
      if (param.coordinates == Coordinates::kTfHalfPixelForNn) at = (o + 0.5) / scale;
      if (param.coordinates == Coordinates::kAlignCorners && target > 1) {
        at = static_cast<double>(o * (size - 1)) / static_cast<double>(target - 1);
      }
      ASSERT_NEAR(y.At(i), Sample(line, mode, at, -0.75), 1e-5) << "element " << i;
    }
  });
}

// The examples of ONNX's documentation.
TEST(Resize, GivesTheExamplesOfOnnx) {
  const HostTensor x = Counting({1, 1, 4, 4});
  const auto check = [](const ResizeParam& param, const std::vector<HostTensor>& inputs,
                        const std::vector<double>& expected) {
    EXPECT_TRUE(Near(Evaluate(Resize(param), inputs), expected, 1e-6));
  };
  check(Param(Mode::kCubic), {x, Floats({0.8f, 0.8f})},
        {1.47119141, 2.78125, 4.08251953, 6.71142578, 8.02148438, 9.32275391, 11.91650391,
         13.2265625, 14.52783203});
  ResizeParam antialias = Param(Mode::kLinear);
  antialias.antialias = true;
  check(antialias, {x, Floats({0.6f, 0.6f})}, {2.875, 4.5, 9.375, 11});
  antialias.mode = Mode::kCubic;
  check(antialias, {x, Floats({0.6f, 0.6f})}, {2.5180721, 4.2858863, 9.589329, 11.357142});
  check(Param(Mode::kLinear, Coordinates::kAlignCorners),
        {Counting({1, 1, 2, 4}), Floats({0.6f, 0.6f})}, {1, 3.142857});
  check(Param(Mode::kLinear, Coordinates::kPytorchHalfPixel), {x, Int64Vector({3, 1})},
        {1.6666666, 7, 12.333333});
  check(Param(Mode::kLinear, Coordinates::kTfCropAndResize),
        {x, Int64Vector({3, 3}), Floats({0.4f, 0.6f, 0.6f, 0.8f})},
        {7.6, 7.9, 8.2, 8.8, 9.1, 9.4, 10, 10.3, 10.6});
  ResizeParam symmetric = Param(Mode::kLinear, Coordinates::kHalfPixelSymmetric);
  symmetric.axes = {3};
  check(symmetric, {Counting({1, 1, 1, 2}), Floats({2.94f})}, {1, 1.15986395, 1.5, 1.84013605, 2});
}

TEST(Resize, RoundsHalvesAsItIsTold) {
  // Half the size: coordinates 0.5, 2.5.
  const struct {
    Rounding rounding;
    std::vector<double> expected;
  } kRows[] = {{Rounding::kPreferFloor, {1, 3}},
               {Rounding::kPreferCeil, {2, 4}},
               {Rounding::kFloor, {1, 3}},
               {Rounding::kCeil, {2, 4}}};
  for (const auto& row : kRows) {
    ResizeParam param = Param(Mode::kNearest);
    param.rounding = row.rounding;
    param.axes = {3};
    EXPECT_TRUE(
        Near(Evaluate(Resize(param), {Counting({1, 1, 1, 4}), Int64Vector({2})}), row.expected, 0));
  }
}

// Scale 1.7 of 5 elements makes 8, whose corners match the input's. Values are from ONNX Runtime
// 1.32 and PyTorch's interpolate(align_corners=True). Regression: a fractional length of 8.5 was
// used.
TEST(Resize, CornersAreAlignedToTheWholeSize) {
  ResizeParam param = Param(Mode::kLinear, Coordinates::kAlignCorners);
  param.axes = {0};
  std::vector<double> expected;
  for (int o = 0; o < 8; ++o) expected.push_back(1 + o * 4 / 7.0);
  EXPECT_TRUE(Near(Evaluate(Resize(param), {Counting({5}), Floats({1.7f})}), expected, 1e-6));
  param.coordinates = Coordinates::kTfCropAndResize;  // from the second element to the last
  for (int o = 0; o < 8; ++o) expected[static_cast<size_t>(o)] = 2 + o * 3 / 7.0;
  EXPECT_TRUE(Near(Evaluate(Resize(param), {Counting({5}), Floats({1.7f}), Floats({0.25f, 1.0f})}),
                   expected, 1e-6));
}

// Scale 1.5 of 5 elements makes 7: samples lie at 1.5 o, not at 5 / 7 o.
TEST(Resize, AScaleThatWasGivenIsKept) {
  ResizeParam param = Param(Mode::kLinear, Coordinates::kAsymmetric);
  param.axes = {0};
  std::vector<double> expected;
  for (int o = 0; o < 7; ++o) expected.push_back(std::min(1 + o / 1.5, 5.0));
  EXPECT_TRUE(Near(Evaluate(Resize(param), {Counting({5}), Floats({1.5f})}), expected, 1e-6));
}

TEST(Resize, OutsideIsExtrapolated) {
  ResizeParam param = Param(Mode::kLinear, Coordinates::kTfCropAndResize);
  param.axes = {0};
  param.extrapolation = -7;
  EXPECT_TRUE(
      Near(Evaluate(Resize(param), {Counting({3}), Int64Vector({5}), Floats({-0.5f, 1.5f})}),
           std::vector<double>{-7, 1, 2, 3, -7}, 1e-6));
}

// Each slice, computed from the inputs that it names, equals that slice of the whole.
TEST(Resize, PartsAreThoseOfTheWhole) {
  ForSeeds(200, [](int seed, Random& random) {
    ResizeParam param = Param(static_cast<Mode>(seed % 3), static_cast<Coordinates>(seed / 3 % 6));
    param.antialias = seed % 2 == 1;
    const HostTensor x =
        RandomTensor(random, DType::kFloat32, {1, 2, Pick(random, 1, 12), Pick(random, 1, 12)});
    const std::vector<HostTensor> inputs = {
        x, Int64Vector({Pick(random, 1, 20), Pick(random, 1, 20)})};
    const Resize op(param);
    const HostTensor whole = Evaluate(op, inputs);
    const Part part = RandomPart(random, op, inputs, whole);
    const Region reached = *op.OutputRegion(0, part.needed, part.site);
    for (int axis : {2, 3}) EXPECT_TRUE(reached[axis].Contains(part.wanted[axis]));
    ExpectPartOfTheWhole(random, op, inputs, whole, part, 1);
  });
}

TEST(Resize, RefusesWhatItCannotCompute) {
  const HostTensor x = Counting({1, 2, 4, 4});
  const HostTensor none = HostTensor::Zeros(DType::kFloat32, {1, 2, 0, 4});
  const HostTensor ints = HostTensor::Zeros(DType::kInt32, {1, 2, 4, 4});
  ResizeParam far = Param(Mode::kLinear), twice = far, part = far, odd = far;
  far.axes = {4, 3};
  twice.axes = {3, -1};
  part.part = {0, 8, 0, 4, 0, 8, 1, 5};
  odd.part = {0, 8};
  const struct {
    ResizeParam param;
    std::vector<HostTensor> inputs;
    const char* error;
  } kCases[] = {
      {Param(Mode::kLinear), {x}, "1 inputs, expected 2"},
      {Param(Mode::kLinear), {x, Floats({1, 1}), Floats({0, 0, 1, 1})}, "3 inputs"},
      {Param(Mode::kLinear, Coordinates::kTfCropAndResize), {x, Floats({1, 1})}, "a region"},
      {Param(Mode::kLinear, Coordinates::kTfCropAndResize),
       {x, Floats({1, 1}), Floats({0, 1})},
       "a region of 2 numbers for 2 axes"},
      {Param(Mode::kLinear, Coordinates::kTfCropAndResize),
       {x, Floats({1, 1}), Floats({0, 0, 1e30f, 1})},
       "not in reach"},
      {Param(Mode::kLinear), {x, Floats({2})}, "1 scales for 2 axes"},
      {Param(Mode::kLinear), {x, Int64Vector({2})}, "1 sizes for 2 axes"},
      {Param(Mode::kLinear), {x, Int64Vector({2, 0})}, "size 0 of axis 3"},
      {Param(Mode::kLinear), {x, Floats({1, NAN})}, "scale nan of axis 3"},
      {Param(Mode::kLinear), {x, Floats({1, 0.1f})}, "scale 0.1 of axis 3 makes 4 elements 0"},
      {Param(Mode::kLinear), {x, Floats({1e9f, 1e9f})}, "is larger than"},
      {Param(Mode::kLinear), {none, Floats({1, 1})}, "makes 0 elements 0"},
      {Param(Mode::kLinear), {ints, Floats({1, 1})}, "expected floats"},
      {far, {x, Floats({1, 1})}, "axis"},
      {twice, {x, Floats({1, 1})}, "axis 3 is resized twice"},
      {part, {x, Int64Vector({8, 8})}, "part of axis 3"},
      {odd, {x, Int64Vector({8, 8})}, "parameter part has 2 numbers, expected 8"},
  };
  for (const auto& c : kCases) {
    EXPECT_TRUE(FailsWith(Resize(c.param).Infer(InfosOf(c.inputs)).status(), c.error)) << c.error;
  }
  std::vector<InputInfo> unknown = InfosOf({x, Floats({2, 2})});
  unknown[1].value = nullptr;
  EXPECT_TRUE(FailsWith(Resize(Param(Mode::kLinear)).Infer(unknown).status(), "known before"));
}

// 17 / 1.7f is below 10 in double precision, and 10 in single precision, which PyTorch and ONNX
// Runtime use.
TEST(Resize, NearestIsFoundInSinglePrecision) {
  ResizeParam param = Param(Mode::kNearest, Coordinates::kAsymmetric);
  param.rounding = Rounding::kFloor;
  const HostTensor y = Evaluate(Resize(param), {Counting({1, 1, 1, 13}), Floats({1, 1.7f})});
  ASSERT_EQ(y.shape(), (Shape{1, 1, 1, 22}));
  EXPECT_EQ(y.At(16), 10);
  EXPECT_EQ(y.At(17), 11);
}

}  // namespace
}  // namespace ashlar::testing
