#include "opr/grid_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "opr/base/host_value.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using Padding = GridSamplePadding;

// Returns a pixel of an image that continues without end; reflection is found by walking.
double Pixel(const HostTensor& x, int64_t plane, Padding padding, bool align, int64_t row,
             int64_t column) {
  const auto inside = [&](int64_t i, int64_t size) -> int64_t {
    if (i >= 0 && i < size) return i;
    if (padding == Padding::kZeros) return -1;
    if (padding == Padding::kBorder) return i < 0 ? 0 : size - 1;
    if (size == 1) return 0;
    int64_t at = 0, step = 1;
    // Walks over pixels 0, 1, ..., size - 1 and back; the end pixels come twice if the image ends
    // at their edges.
    for (int64_t k = 0; k != std::abs(i < 0 && !align ? i + 1 : i); ++k) {
      const int64_t next = at + step;
      if (next < 0 || next >= size) {
        step = -step;
        if (align) at += step;
      } else {
        at = next;
      }
    }
    return at;
  };
  const int64_t r = inside(row, x.shape()[2]), c = inside(column, x.shape()[3]);
  return r < 0 || c < 0 ? 0 : x.At((plane * x.shape()[2] + r) * x.shape()[3] + c);
}

double Weight(GridSampleMode mode, double distance) {
  const double d = std::fabs(distance), a = -0.75;
  if (mode == GridSampleMode::kLinear) return d < 1 ? 1 - d : 0;
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

TEST(GridSample, SumsThePixelsAround) {
  for (int seed = 0; seed < 108; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const GridSampleParam param{static_cast<GridSampleMode>(seed % 3),
                                static_cast<Padding>(seed / 3 % 3), seed / 9 % 2 == 1};
    const HostTensor x = RandomTensor(random, Shape{2, 2, Pick(random, 2, 6), Pick(random, 2, 6)});
    const HostTensor grid = RandomTensor(random, Shape{2, 3, 4, 2}, -2, 2);
    const HostTensor y = Evaluate(GridSample(param), {x, grid});
    ASSERT_EQ(y.shape(), (Shape{2, 2, 3, 4}));
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const int64_t point = i / 24 * 12 + i % 12, plane = i / 12;
      const auto place = [&](double at, int64_t size) {
        const auto length = static_cast<double>(size);
        const double there =
            param.align_corners ? (at + 1) / 2 * (length - 1) : ((at + 1) * length - 1) / 2;
        // A point is moved to the border before its pixels are read, except in cubic mode.
        const double margin = param.align_corners ? 0 : 0.5;
        const bool outside = there < -margin || there > length - 1 + margin;
        const bool moves =
            param.padding == Padding::kBorder && param.mode != GridSampleMode::kCubic;
        return outside && moves ? std::clamp(there, 0.0, length - 1) : there;
      };
      const double column = place(grid.At(2 * point), x.shape()[3]);
      const double row = place(grid.At(2 * point + 1), x.shape()[2]);
      double expected = 0;
      if (param.mode == GridSampleMode::kNearest) {
        expected = Pixel(x, plane, param.padding, param.align_corners, std::lrint(row),
                         std::lrint(column));
      } else {
        for (int64_t r = -20; r < 26; ++r) {
          for (int64_t c = -20; c < 26; ++c) {
            const double weight = Weight(param.mode, row - static_cast<double>(r)) *
                                  Weight(param.mode, column - static_cast<double>(c));
            if (weight == 0) continue;
            expected += weight * Pixel(x, plane, param.padding, param.align_corners, r, c);
          }
        }
      }
      ASSERT_NEAR(y.At(i), expected, 1e-5) << "element " << i;
    }
  }
}

TEST(GridSample, XComesFirst) {
  const HostTensor x =
      HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const HostTensor corner = HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 2}, {1, -1});
  EXPECT_EQ(
      Evaluate(GridSample({GridSampleMode::kLinear, Padding::kZeros, true}), {x, corner}).At(0), 3);
}

// Values of PyTorch 2.15's grid_sample(mode="bicubic", padding_mode="border", align_corners=True).
TEST(GridSample, CubicPointsBeyondTheBorderStayWhereTheyAre) {
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 3}, {1, 2, 4});
  const HostTensor grid =
      HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 3, 2}, {-1.5, 0, 1.25, 0, 3, 0});
  const HostTensor y =
      Evaluate(GridSample({GridSampleMode::kCubic, Padding::kBorder, true}), {x, grid});
  const double expected[] = {0.90625, 4.2109375, 4};
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(y.At(i), expected[i], 1e-6) << i;
}

TEST(GridSample, CutsPoints) {
  const OwnedSite site{{{{DType::kFloat32, {2, 3, 7, 9}}}, {{DType::kFloat32, {2, 5, 6, 2}}}},
                       {{DType::kFloat32, {2, 3, 5, 6}}}};
  const auto regions =
      GridSample(GridSampleParam()).InputRegions({{1, 2}, {0, 3}, {2, 4}, {1, 6}}, site);
  ASSERT_TRUE(regions.has_value());
  EXPECT_EQ((*regions)[0], (Region{{1, 2}, {0, 3}, {0, 7}, {0, 9}}));
  EXPECT_EQ((*regions)[1], (Region{{1, 2}, {2, 4}, {1, 6}, {0, 2}}));
}

TEST(GridSample, RefusesWhatItCannotCompute) {
  const auto op = std::make_shared<const GridSample>(GridSampleParam());
  const Shape x{2, 3, 7, 9};
  ExpectRejected({{op, {x}, "1 inputs, expected 2"},
                  {op, {{3, 7, 9}, {1, 2, 2, 2}}, "expected rank 4"},
                  {op, {x, {2, 5, 2}}, "grid is Float32{2,5,2}"},
                  {op, {x, {1, 5, 6, 2}}, "expected {2,oh,ow,2}"},
                  {op, {x, {2, 5, 6, 3}}, "expected {2,oh,ow,2}"}});
}

}  // namespace
}  // namespace ashlar::testing
