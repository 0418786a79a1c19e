#include "opr/convolution_backward_data.h"

#include <gtest/gtest.h>

#include "opr/base/host_value.h"
#include "tests/opr/parts.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

ConvolutionParam RandomParam(Random& random, bool grouped) {
  ConvolutionParam param;
  param.sparse = grouped ? SparseMode::kGroup : SparseMode::kDense;
  param.mode =
      Pick(random, 0, 1) == 0 ? ConvolutionMode::kCrossCorrelation : ConvolutionMode::kConvolution;
  param.stride_h = Pick(random, 1, 3);
  param.stride_w = Pick(random, 1, 3);
  param.dilate_h = Pick(random, 1, 2);
  param.dilate_w = Pick(random, 1, 2);
  param.pad_h = Pick(random, -1, 1);
  param.pad_w = Pick(random, -1, 1);
  param.pad_h_end = Pick(random, -2, 1);
  param.pad_w_end = Pick(random, -2, 1);
  return param;
}

// <convolution(x), y> = <x, backward(y)> for every x and y: the defining property.
TEST(ConvolutionBackwardData, IsTheTransposeOfTheConvolution) {
  int compared = 0;
  for (int seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    const bool grouped = seed % 2 == 1;
    const int64_t groups = grouped ? Pick(random, 1, 3) : 1;
    const int64_t channels = Pick(random, 1, 3), outputs = Pick(random, 1, 3);
    const int64_t fh = Pick(random, 1, 4), fw = Pick(random, 1, 4);
    const ConvolutionParam param = RandomParam(random, grouped);
    const HostTensor filter =
        RandomTensor(random, grouped ? Shape{groups, channels, outputs, fh, fw}
                                     : Shape{channels, outputs, fh, fw});
    const HostTensor y =
        RandomTensor(random, Shape{2, groups * channels, Pick(random, 1, 5), Pick(random, 1, 5)});
    const ConvolutionBackwardData op(param);
    const auto types = op.Infer(InfosOf({y, filter}));
    if (!types.ok()) continue;
    const HostTensor spread = Evaluate(op, {y, filter});
    const HostTensor x = RandomTensor(random, spread.shape());
    // The convolution uses the same filter: its outputs are the channels of y.
    const HostTensor convolved = Evaluate(ConvolutionForward(param), {x, filter});
    ASSERT_EQ(convolved.shape(), y.shape());
    double left = 0, right = 0;
    for (int64_t i = 0; i < y.num_elements(); ++i) left += convolved.At(i) * y.At(i);
    for (int64_t i = 0; i < x.num_elements(); ++i) right += x.At(i) * spread.At(i);
    EXPECT_NEAR(left, right, 1e-4);
    ++compared;
  }
  EXPECT_GE(compared, 150);
}

// Regression: every pair of an element and a weight was visited, which took minutes for an image
// and a filter that a small file declared.
TEST(ConvolutionBackwardData, CountsPairsThatReachTheOutput) {
  const auto computation = [](const ConvolutionParam& param, int64_t image, int64_t window) {
    const TensorType src{DType::kFloat32, {1, 1, 1, image}};
    const TensorType filter{DType::kFloat32, {1, 1, 1, window}};
    return ConvolutionBackwardData(param).KeptComputation(OwnedSite{{{src}, {filter}}, {src}});
  };
  ConvolutionParam param;
  EXPECT_EQ(computation(param, 3, 2), 2 * 6);
  EXPECT_EQ(computation(param, 1000000, 250000), int64_t{2} * 1000000 * 250000);
  param.pad_w = param.pad_w_end = 1;
  EXPECT_EQ(computation(param, 3, 2), 2 * 4);
}

TEST(ConvolutionBackwardData, SpreadsOneElement) {
  ConvolutionParam param;
  param.stride_h = param.stride_w = 2;
  const HostTensor src = HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 2}, {2, 3});
  const HostTensor filter =
      HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 1, 3}, {1, 10, 100});
  EXPECT_TRUE(Near(Evaluate(ConvolutionBackwardData(param), {src, filter}),
                   std::vector<double>{2, 20, 203, 30, 300}, 0));
}

// ONNX's output_padding means less padding at the end.
TEST(ConvolutionBackwardData, SizesAreThoseOfTheFormula) {
  ConvolutionParam param;
  param.stride_h = param.stride_w = 2;
  param.pad_h = param.pad_w = 1;
  const auto types = InferShapes(ConvolutionBackwardData(param), {{1, 8, 5, 7}, {8, 4, 4, 3}});
  EXPECT_EQ((*types)[0].shape, (Shape{1, 4, 10, 13}));
  param.pad_w_end = 0;
  const auto padded = InferShapes(ConvolutionBackwardData(param), {{1, 8, 5, 7}, {8, 4, 4, 3}});
  EXPECT_EQ((*padded)[0].shape, (Shape{1, 4, 10, 14}));
}

TEST(ConvolutionBackwardData, PartsAreThoseOfTheWhole) {
  int parts = 0;
  ForSeeds(200, [&](int, Random& random) {
    const ConvolutionBackwardData op(RandomParam(random, false));
    const HostTensor src =
        RandomTensor(random, Shape{1, 2, Pick(random, 1, 7), Pick(random, 1, 7)});
    const HostTensor filter = RandomTensor(random, Shape{2, 3, Pick(random, 1, 4), 2});
    if (!op.Infer(InfosOf({src, filter})).ok()) return;
    const HostTensor whole = Evaluate(op, {src, filter});
    const Part part = RandomPart(random, op, {src, filter}, whole);
    ExpectPartOfTheWhole(random, op, {src, filter}, whole, part, 1);
    ++parts;
  });
  EXPECT_GE(parts, 150);
}

TEST(ConvolutionBackwardData, RefusesWhatItCannotCompute) {
  const auto make = [](ConvolutionParam param) {
    return std::make_shared<const ConvolutionBackwardData>(param);
  };
  ConvolutionParam grouped, still, padded, huge;
  grouped.sparse = SparseMode::kGroup;
  still.stride_w = 0;
  padded.pad_h = 3;
  huge.stride_h = int64_t{1} << 40;
  const Shape src{1, 4, 3, 3}, filter{4, 2, 3, 3};
  ExpectRejected({
      {make({}), {src}, "1 inputs, expected 2"},
      {make({}), {{4, 3, 3}, filter}, "expected rank 4"},
      {make({}), {src, {4, 2, 3}}, "expected rank 4 (ic, oc, fh, fw)"},
      {make(grouped), {src, filter}, "expected rank 5"},
      {make({}), {src, {5, 2, 3, 3}}, "input has 4 channels, filter expects 5"},
      {make(still), {src, filter}, "stride_w 0"},
      {make(padded), {src, filter}, "nothing is left"},
      {make(huge), {src, filter}, "stride_h 1099511627776"},
  });
}

}  // namespace
}  // namespace ashlar::testing
