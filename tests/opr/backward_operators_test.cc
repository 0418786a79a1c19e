// Operators that compute gradients, in Float64. They are compared with central differences if a
// forward operator exists in Float64, and checked as adjoints if it is linear.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "opr/batch_norm_training.h"
#include "opr/convolution_backward_data.h"
#include "opr/convolution_backward_filter.h"
#include "opr/pooling_backward.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

HostTensor Doubles(Random& random, const Shape& shape) {
  return RandomTensor(random, DType::kFloat64, shape);
}

double Product(const HostTensor& a, const HostTensor& b) {
  double sum = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) sum += a.At(i) * b.At(i);
  return sum;
}

// The loss is sum(conv(x, w) * d), which is linear in x and in w.
TEST(BackwardOperators, FilterAndDataAreOfOneConvolution) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  for (int turn = 0; turn < 40; ++turn) {
    ConvolutionParam param;
    param.stride_h = Pick(random, 1, 3);
    param.stride_w = Pick(random, 1, 3);
    param.dilate_h = Pick(random, 1, 2);
    param.pad_h = Pick(random, -1, 2);
    param.pad_w = Pick(random, 0, 2);
    if (turn % 3 == 0) param.mode = ConvolutionMode::kConvolution;
    const int64_t groups = turn % 2 == 0 ? 1 : Pick(random, 2, 3);
    if (groups > 1) param.sparse = SparseMode::kGroup;
    const int64_t in = Pick(random, 1, 3), out = Pick(random, 1, 3), fh = Pick(random, 1, 3);
    const Shape filter = groups > 1 ? Shape{groups, out, in, fh, 2} : Shape{out, in, fh, 2};
    const Shape diff = {2, groups * out, Pick(random, 1, 4), Pick(random, 1, 4)};
    const ConvolutionBackwardData data(param);
    const auto inferred =
        data.Infer(std::vector<InputInfo>{{{DType::kFloat64, diff}}, {{DType::kFloat64, filter}}});
    if (!inferred.ok()) continue;  // the result is empty
    const HostTensor x = Doubles(random, (*inferred)[0].shape), w = Doubles(random, filter);
    const HostTensor d = Doubles(random, diff);
    const HostTensor dw = Evaluate(ConvolutionBackwardFilter(param), {x, d, w});
    const HostTensor dx = Evaluate(data, {d, w});
    EXPECT_EQ(dw.dtype(), DType::kFloat64);
    EXPECT_NEAR(Product(w, dw), Product(x, dx), 1e-12);
  }
}

// The value of a maximum or a mean, weighted by diff, equals the elements weighted by the gradient.
TEST(BackwardOperators, PoolingHandsAllOfDiffBack) {
  constexpr uint64_t kSeed = 6;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  for (const PoolingMode mode :
       {PoolingMode::kMax, PoolingMode::kAverage, PoolingMode::kAverageCountExcludePadding}) {
    const PoolingParam param = {
        .mode = mode, .window_h = 3, .window_w = 2, .pad_h = 1, .pad_w = 1, .dilate_w = 2};
    const HostTensor x = RandomTensor(random, {2, 3, 7, 8});
    const HostTensor y = Evaluate(PoolingForward(param), {x});
    const HostTensor d = RandomTensor(random, y.shape());
    EXPECT_NEAR(Product(y, d), Product(x, Evaluate(PoolingBackward(param), {x, d})), 1e-4);
  }
  const HostTensor wide = Doubles(random, {1, 1, 2, 2}), one = Doubles(random, {1, 1, 1, 1});
  const HostTensor mean = Evaluate(PoolingBackward({.mode = PoolingMode::kAverage}), {wide, one});
  EXPECT_EQ(mean.At(3), one.At(0) / 4);
}

TEST(BackwardOperators, BatchNormFollowsDifferences) {
  constexpr uint64_t kSeed = 7;
  constexpr double kStep = 1e-6;
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  Random random(kSeed);
  const BatchNormParam param{1e-3};
  const BatchNormTraining forward(param);
  for (const Shape& shape : {Shape{3, 2, 2, 3}, Shape{5, 3}}) {
    const Shape channels = {shape[1]};
    std::vector<HostTensor> inputs = {Doubles(random, shape), Doubles(random, channels),
                                      Doubles(random, channels)};
    const HostTensor d = Doubles(random, shape);
    const std::vector<HostTensor> made = Value(forward.Evaluate(inputs));
    const std::vector<HostTensor> gradients =
        Value(BatchNormBackward({param.epsilon})
                  .Evaluate(std::vector<HostTensor>{inputs[0], d, made[1], made[2], inputs[1]}));
    ASSERT_EQ(gradients.size(), inputs.size());
    for (size_t input = 0; input < inputs.size(); ++input) {
      const HostTensor kept = inputs[input];
      for (int64_t i = 0; i < kept.num_elements(); ++i) {
        double losses[2];
        for (const int side : {0, 1}) {
          HostTensor moved = HostTensor::Zeros(DType::kFloat64, kept.shape());
          for (int64_t j = 0; j < kept.num_elements(); ++j) {
            moved.Set(j, kept.At(j) + (j != i ? 0 : side == 0 ? -kStep : kStep));
          }
          inputs[input] = moved;
          losses[side] = Product(Value(forward.Evaluate(inputs))[0], d);
        }
        inputs[input] = kept;
        EXPECT_NEAR(gradients[input].At(i), (losses[1] - losses[0]) / (2 * kStep), 1e-6)
            << "input " << input << ", element " << i;
      }
    }
  }
}

TEST(BackwardOperators, BatchNormMayOverwriteWhatDies) {
  const TensorType x{DType::kFloat32, {2, 20, 3, 3}, Format::kNCHW16c};
  const TensorType c{DType::kFloat32, {20}};
  const OwnedSite site{{{x}, {x}, {c}, {c}, {c}}, {x, c, c}};
  EXPECT_EQ(OverwrittenBy(BatchNormBackward(BatchNormBackwardParam{}), site),
            (std::vector<int>{BatchNormBackward::kDiff, BatchNormBackward::kX}));
  TensorType rows = x;
  rows.format = Format::kDefault;
  const OwnedSite mixed{{{rows}, {x}, {c}, {c}, {c}}, {x, c, c}};
  EXPECT_EQ(OverwrittenBy(BatchNormBackward(BatchNormBackwardParam{}), mixed),
            (std::vector<int>{BatchNormBackward::kDiff}));
}

TEST(BackwardOperators, WhatIsReadForItsShapeIsNoDeviceValue) {
  EXPECT_EQ(
      ConvolutionBackwardFilter(ConvolutionParam{}).input_use(ConvolutionBackwardFilter::kFilter),
      InputUse::kShape);
  EXPECT_EQ(PoolingBackward(PoolingParam{}).input_use(PoolingBackward::kSrc),
            InputUse::kDeviceValue);
  EXPECT_EQ(PoolingBackward({.mode = PoolingMode::kAverage}).input_use(PoolingBackward::kSrc),
            InputUse::kShape);
}

}  // namespace
}  // namespace ashlar::testing
