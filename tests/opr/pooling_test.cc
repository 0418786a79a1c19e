#include "opr/pooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakePooling(PoolingParam param) {
  return std::make_shared<const PoolingForward>(param);
}

std::vector<double> Reference(const PoolingParam& p, const HostTensor& src, const Shape& output) {
  const int64_t height = src.shape()[2], width = src.shape()[3];
  std::vector<double> result;
  for (int64_t plane = 0; plane < output[0] * output[1]; ++plane) {
    for (int64_t oy = 0; oy < output[2]; ++oy) {
      for (int64_t ox = 0; ox < output[3]; ++ox) {
        double largest = -INFINITY, sum = 0;
        int64_t inside = 0;
        for (int64_t ky = 0; ky < p.window_h; ++ky) {
          for (int64_t kx = 0; kx < p.window_w; ++kx) {
            const int64_t y = oy * p.stride_h - p.pad_h + ky * p.dilate_h;
            const int64_t x = ox * p.stride_w - p.pad_w + kx * p.dilate_w;
            if (y < 0 || y >= height || x < 0 || x >= width) continue;
            const double value = src.At((plane * height + y) * width + x);
            largest = std::max(largest, value);
            sum += value;
            ++inside;
          }
        }
        const int64_t all = p.window_h * p.window_w;
        result.push_back(p.mode == PoolingMode::kMax
                             ? largest
                             : sum / (p.mode == PoolingMode::kAverage ? all : inside));
      }
    }
  }
  return result;
}

TEST(Pooling, EvaluatesItsDefinition) {
  ForSeeds(60, [&](int seed, Random& random) {
    const auto pick = [&random](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    PoolingParam p{.mode = static_cast<PoolingMode>(seed % 3)};
    p.window_h = pick(1, 4);
    p.window_w = pick(1, 4);
    p.stride_h = pick(1, 5);
    p.stride_w = pick(1, 5);
    p.pad_h = pick(0, p.window_h - 1);
    p.pad_w = pick(0, p.window_w - 1);
    if (seed % 2 == 1) {
      p.window_h = pick(1, 3);
      p.window_w = pick(1, 3);
      p.pad_h = pick(0, p.window_h - 1);
      p.pad_w = pick(0, p.window_w - 1);
      p.dilate_h = pick(1, 2);
      p.dilate_w = pick(1, 2);
    }
    if (pick(0, 1) == 1) p.pad_h_end = pick(0, p.window_h - 1);
    if (pick(0, 1) == 1) p.pad_w_end = pick(0, p.window_w - 1);
    const HostTensor src =
        RandomTensor(random, Shape{pick(1, 2), pick(1, 5), pick(5, 11), pick(5, 11)});
    const HostTensor actual = Evaluate(*MakePooling(p), {src});
    EXPECT_TRUE(Near(actual, Reference(p, src, actual.shape()), 1e-6));
  });
}

TEST(Pooling, LargerEndPaddingIsCeilMode) {
  const PoolingParam p{.window_h = 3, .window_w = 3, .pad_h_end = 1, .pad_w_end = 1};
  const auto types = InferShapes(*MakePooling(p), {{1, 64, 112, 112}});
  ASSERT_TRUE(types.ok()) << types.status();
  EXPECT_EQ((*types)[0].shape, (Shape{1, 64, 56, 56}));
}

TEST(Pooling, HandsNaNOn) {
  const HostTensor src =
      HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 2, 2}, {1, NAN, 3, 4});
  EXPECT_TRUE(std::isnan(Evaluate(*MakePooling({}), {src}).At(0)));
}

TEST(Pooling, AHugeWindowCostsNoMoreThanTheImage) {
  constexpr int64_t kMost = 2147483647;
  const PoolingParam p{.mode = PoolingMode::kAverageCountExcludePadding,
                       .window_h = kMost,
                       .window_w = kMost,
                       .pad_h = kMost - 2,
                       .pad_w = kMost - 2,
                       .pad_h_end = 0,
                       .pad_w_end = 0};
  const HostTensor src = HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Evaluate(*MakePooling(p), {src}).At(0), 2.5);
}

TEST(Pooling, RefusesWhatItCannotCompute) {
  const Shape src{1, 3, 8, 8};
  ExpectRejected({
      {MakePooling({}), {}, "0 inputs, expected 1"},
      {MakePooling({}), {{3, 8, 8}}, "expected rank 4"},
      {MakePooling({.window_h = 0}), {src}, "window_h is 0, expected 1 to"},
      {MakePooling({.stride_w = 0}), {src}, "stride_w is 0, expected 1 to"},
      {MakePooling({.pad_h = -4}),
       {src},
       "window_h is 2 (dilated: 2), larger than the padded input of 0"},
      {MakePooling({.window_h = 9}),
       {src},
       "window_h is 9 (dilated: 9), larger than the padded input of 8"},
      {MakePooling({.pad_h = 2}),
       {src},
       "pad_h is 2 and 2 for windows of 2: one lies wholly in the padding"},
      {MakePooling({.pad_w = 0, .pad_w_end = 2}), {src}, "pad_w is 0 and 2 for windows of 2"},
      {MakePooling({.window_h = int64_t{1} << 40}), {src}, "window_h is 1099511627776"},
      {MakePooling({.dilate_h = 0}), {src}, "dilate_h is 0, expected 1 to"},
      {MakePooling({.stride_h = 1, .pad_h = 9, .dilate_h = 18}),
       {src},
       "pad_h is 9 and 9 for windows of 2: one lies wholly in the padding"},
  });
}

}  // namespace
}  // namespace ashlar::testing
