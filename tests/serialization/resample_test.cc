// Compares resampling with its formula in double precision, and with Pillow's results.
#include "serialization/resample.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::Value;

// Returns the weight of pixel j of `from` in pixel i of `to`. It is a triangle around the position
// of i, divided by the sum of all weights. The triangle extends by a pixel of the coarser grid to
// either side.
double Weight(int64_t from, int64_t to, int64_t i, int64_t j) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = std::max(scale, 1.0), place = (static_cast<double>(i) + 0.5) * scale - 0.5;
  const auto triangle = [&](int64_t k) {
    return std::max(0.0, 1 - std::abs(static_cast<double>(k) - place) / radius);
  };
  double sum = 0;
  for (int64_t k = 0; k < from; ++k) sum += triangle(k);
  return triangle(j) / sum;
}

double Expected(const Pixels& pixels, PictureSize size, int64_t y, int64_t x, int c) {
  double sum = 0;
  for (int64_t i = 0; i < pixels.size.height; ++i) {
    for (int64_t j = 0; j < pixels.size.width; ++j) {
      sum += Weight(pixels.size.height, size.height, y, i) *
             Weight(pixels.size.width, size.width, x, j) * pixels.at(i, j)[c];
    }
  }
  return sum;
}

// Returns pixels of 37 i^2 + 11 i, in bytes.
Pixels Sample() {
  Pixels pixels = Pixels::Zeros({5, 7});
  for (size_t i = 0; i < pixels.data.size(); ++i) {
    pixels.data[i] = static_cast<uint8_t>(37 * i * i + 11 * i);
  }
  return pixels;
}

// Both passes round to bytes, by at most half a step each.
TEST(Resample, IsTheFormula) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 40; ++round) {
    const auto side = [&](int most) { return static_cast<int64_t>(1 + random() % most); };
    Pixels pixels = Pixels::Zeros({side(19), side(19)});
    for (uint8_t& value : pixels.data) value = static_cast<uint8_t>(random());
    const PictureSize size = {side(24), side(24)};
    SCOPED_TRACE(::testing::PrintToString(
        std::vector<int64_t>{pixels.size.height, pixels.size.width, size.height, size.width}));
    const Pixels got = Value(Resample(pixels, size));
    ASSERT_EQ(got.size, size);
    for (int64_t y = 0; y < size.height; ++y) {
      for (int64_t x = 0; x < size.width; ++x) {
        for (int c = 0; c < 3; ++c) {
          ASSERT_NEAR(got.at(y, x)[c], Expected(pixels, size, y, x, c), 1.001) << y << ' ' << x;
        }
      }
    }
  }
}

// Results of Image.fromarray(sample).resize((w, h), Image.BILINEAR) in Pillow 13. Pillow resamples
// columns first, except if the picture becomes wider and lower: then a pass rounds elsewhere.
TEST(Resample, IsPillows) {
  struct Case {
    PictureSize size;
    std::vector<uint8_t> pixels;  // at least the first rows
  };
  const Case cases[] = {
      {{3, 4},
       {83,  121, 175, 99,  125, 184, 110, 179, 175, 133, 205, 149, 142, 134, 129, 64,  77,  124,
        122, 101, 126, 151, 140, 112, 120, 152, 132, 90,  102, 120, 73,  51,  105, 134, 137, 137}},
      {{2, 11},
       {115, 123, 147, 110, 129, 159, 104, 133, 172, 99,  106, 169, 82,  98,  157, 57,  102,
        140, 122, 146, 162, 146, 165, 160, 117, 151, 124, 140, 183, 134, 163, 211, 147, 123,
        167, 145, 130, 148, 126, 132, 123, 106, 84,  105, 119, 59,  81,  125, 51,  51,  125,
        74,  52,  105, 104, 76,  107, 143, 131, 140, 146, 136, 124, 143, 134, 106}},
      {{5, 1}, {74, 173, 193, 144, 136, 146, 108, 97, 118, 97, 97, 109, 97, 108, 131}},
      {{9, 7}, {0, 48, 170, 110, 124, 212, 118, 98, 152, 24, 226, 246}},
      {{12, 13}, {0, 48, 170, 34, 71, 183, 93, 112, 206, 113, 114, 189}},
  };
  for (const Case& c : cases) {
    const Pixels got = Value(Resample(Sample(), c.size));
    ASSERT_EQ(got.size, c.size);
    const int rounding = c.size.width > 7 && c.size.height < 5 ? 1 : 0;
    for (size_t i = 0; i < c.pixels.size(); ++i) {
      EXPECT_NEAR(got.data[i], c.pixels[i], rounding) << c.size.height << ' ' << i;
    }
  }
}

TEST(Resample, OfItsOwnSizeIsTheSame) {
  EXPECT_EQ(Value(Resample(Sample(), {5, 7})).data, Sample().data);
}

TEST(Resample, RefusesAbsurdSizes) {
  EXPECT_FALSE(Resample(Sample(), {1 << 20, 1 << 20}).ok());
  EXPECT_FALSE(Resample(Sample(), {0, 3}).ok());
  EXPECT_FALSE(Resample(Pixels::Zeros({1 << 20, 1}), {1, 1 << 10}).ok());
}

}  // namespace
}  // namespace ashlar
