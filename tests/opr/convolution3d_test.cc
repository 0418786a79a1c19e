#include "opr/convolution3d.h"

#include <gtest/gtest.h>

#include "opr/convolution.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// A filter one slice deep gives, slice by slice, the convolution of images.
TEST(Convolution3D, SlicesAreImages) {
  Random random(1);
  const HostTensor src = RandomTensor(random, Shape{2, 3, 4, 5, 6});
  const HostTensor filter = RandomTensor(random, Shape{4, 3, 1, 3, 2});
  Convolution3DParam param;
  param.pad_h = 1;
  param.stride_w = 2;
  ConvolutionParam of_images;
  of_images.pad_h = 1;
  of_images.stride_w = 2;
  const HostTensor y = Evaluate(Convolution3DForward(param), {src, filter});
  for (int64_t d = 0; d < 4; ++d) {
    HostTensor image = HostTensor::Zeros(DType::kFloat32, {2, 3, 5, 6});
    for (int64_t i = 0; i < image.num_elements(); ++i) {
      image.Set(i, src.At((i / 30 * 4 + d) * 30 + i % 30));
    }
    const HostTensor expected =
        Evaluate(ConvolutionForward(of_images), {image, filter.Reshaped({4, 3, 3, 2})});
    const int64_t plane = expected.shape()[2] * expected.shape()[3];
    for (int64_t i = 0; i < expected.num_elements(); ++i) {
      ASSERT_NEAR(y.At((i / plane * 4 + d) * plane + i % plane), expected.At(i), 1e-5);
    }
  }
}

// Depth behaves like height: the axes may be swapped.
TEST(Convolution3D, AxesMayChangePlaces) {
  ForSeeds(30, [&](int, Random& random) {
    Convolution3DParam param;
    param.stride_d = Pick(random, 1, 2);
    param.pad_d = Pick(random, 0, 1);
    param.pad_d_end = Pick(random, 0, 2);
    param.dilate_d = Pick(random, 1, 2);
    Convolution3DParam turned;
    turned.stride_h = param.stride_d;
    turned.pad_h = param.pad_d;
    turned.pad_h_end = param.pad_d_end;
    turned.dilate_h = param.dilate_d;
    turned.pad_d_end = 0;
    param.pad_h_end = 0;
    const HostTensor src = RandomTensor(random, Shape{1, 2, 6, 5, 3});
    const HostTensor filter = RandomTensor(random, Shape{2, 2, 3, 2, 2});
    // Swaps depth and height.
    const auto turn = [](const HostTensor& x) {
      const Shape& s = x.shape();
      HostTensor y = HostTensor::Zeros(x.dtype(), {s[0], s[1], s[3], s[2], s[4]});
      for (int64_t i = 0; i < y.num_elements(); ++i) {
        std::vector<int64_t> at = IndexOf(i, y.shape());
        std::swap(at[2], at[3]);
        y.Set(i, x.At(OffsetOf(at, s)));
      }
      return y;
    };
    EXPECT_TRUE(Near(turn(Evaluate(Convolution3DForward(turned), {turn(src), turn(filter)})),
                     Evaluate(Convolution3DForward(param), {src, filter}), 1e-5));
  });
}

TEST(Convolution3D, GroupsAndBias) {
  Random random(2);
  Convolution3DParam grouped;
  grouped.sparse = SparseMode::kGroup;
  const HostTensor src = RandomTensor(random, Shape{1, 2, 2, 2, 2});
  const HostTensor filter = RandomTensor(random, Shape{2, 1, 1, 2, 2, 2});
  const HostTensor bias = HostTensor::FromValues<float>(DType::kFloat32, {2}, {10, 20});
  std::vector<double> expected = {10, 20};
  for (int64_t i = 0; i < 16; ++i) {
    expected[static_cast<size_t>(i / 8)] += src.At(i) * filter.At(i);
  }
  EXPECT_TRUE(Near(Evaluate(Convolution3DForward(grouped), {src, filter, bias}), expected, 1e-6));
}

TEST(Convolution3D, RefusesWhatItCannotCompute) {
  const auto make = [](Convolution3DParam param) {
    return std::make_shared<const Convolution3DForward>(param);
  };
  Convolution3DParam grouped, still;
  grouped.sparse = SparseMode::kGroup;
  still.stride_d = 0;
  const Shape src{1, 4, 3, 3, 3}, filter{2, 4, 3, 3, 3};
  ExpectRejected({{make({}), {src}, "1 inputs, expected 2 or 3"},
                  {make({}), {{4, 3, 3, 3}, filter}, "expected rank 5"},
                  {make(grouped), {src, filter}, "expected rank 5 and 6"},
                  {make({}), {src, {2, 3, 3, 3, 3}}, "input has 4 channels, filter expects 3"},
                  {make({}), {src, {2, 4, 4, 3, 3}}, "window_d is 4"},
                  {make(still), {src, filter}, "stride_d is 0"},
                  {make({}), {src, filter, {3}}, "bias is Float32{3}, expected Float32{2}"}});
}

}  // namespace
}  // namespace ashlar::testing
