#include "opr/convolution.h"

#include <gtest/gtest.h>

#include "tests/opr/convolution_reference.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeConvolution(ConvolutionParam param) {
  return std::make_shared<const ConvolutionForward>(param);
}

TEST(Convolution, EvaluatesItsDefinition) {
  ForSeeds(60, [&](int, Random& random) {
    const ConvolutionCase c = RandomConvolution(random);
    const ConvolutionForward op(c.param);
    const HostTensor actual = Evaluate(op, {c.src, c.filter});
    EXPECT_TRUE(Near(actual, ConvolutionReference(c.param, c.src, c.filter, actual.shape()), 1e-6));
  });
}

TEST(Convolution, PaddingLargerThanTheKernelGivesZeros) {
  std::mt19937_64 random(1);
  const ConvolutionParam param{.pad_h = 5, .pad_w = 4};
  const HostTensor src = RandomTensor(random, {1, 2, 3, 3});
  const HostTensor filter = RandomTensor(random, {2, 2, 2, 2});
  const HostTensor actual = Evaluate(ConvolutionForward(param), {src, filter});
  EXPECT_EQ(actual.At(0), 0);
  EXPECT_TRUE(Near(actual, ConvolutionReference(param, src, filter, actual.shape()), 1e-6));
}

TEST(Convolution, CountsMultiplicationsAndAdditions) {
  const ConvolutionForward dense(ConvolutionParam{.pad_h = 1, .pad_w = 1});
  const TensorType src{DType::kFloat32, {1, 64, 56, 56}};
  EXPECT_EQ(dense.Computation(OwnedSite{{{src}, {{DType::kFloat32, {32, 64, 3, 3}}}},
                                        {{DType::kFloat32, {1, 32, 56, 56}}}}),
            int64_t{32} * 56 * 56 * 3 * 3 * 64 * 2);
  const ConvolutionForward grouped(
      ConvolutionParam{.sparse = SparseMode::kGroup, .pad_h = 1, .pad_w = 1});
  EXPECT_EQ(grouped.Computation(OwnedSite{{{src}, {{DType::kFloat32, {32, 1, 2, 3, 3}}}},
                                          {{DType::kFloat32, {1, 32, 56, 56}}}}),
            int64_t{32} * 56 * 56 * 3 * 3 * 2 * 2);
}

TEST(Convolution, RefusesWhatItCannotCompute) {
  const Shape src{1, 64, 8, 8}, filter{16, 64, 3, 3};
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  const ConvolutionParam group{.sparse = SparseMode::kGroup};
  ExpectRejected({
      {MakeConvolution({}), {src}, "1 inputs, expected 2"},
      {MakeConvolution({}), {{64, 8, 8}, filter}, "input is Float32{64,8,8}, expected rank 4"},
      {MakeConvolution({}), {src, {16, 64, 3}}, "filter is Float32{16,64,3}, expected rank 4"},
      {MakeConvolution({}), {src, {2, 8, 32, 3, 3}}, "expected rank 4"},
      {MakeConvolution(group), {src, filter}, "rank 5 (groups, oc, ic, fh, fw) as sparse is GROUP"},
      {MakeConvolution({}),
       {src, {16, 32, 3, 3}},
       "input has 64 channels, filter expects 32 x groups(1) = 32"},
      {MakeConvolution(group), {src, {3, 8, 32, 3, 3}}, "filter expects 32 x groups(3) = 96"},
      {MakeConvolution(group), {src, {0, 8, 32, 3, 3}}, "empty"},
      {MakeConvolution({.stride_h = 0}), {src, filter}, "stride_h is 0, expected 1 to"},
      {MakeConvolution({.stride_w = -2}), {src, filter}, "stride_w is -2"},
      {MakeConvolution({.dilate_h = 0}), {src, filter}, "dilate_h is 0"},
      {MakeConvolution({.pad_w = -3}),
       {src, filter},
       "window_w is 3 (dilated: 3), larger than the padded"},
      {MakeConvolution({.pad_w = -kHuge}),
       {src, filter},
       "pad_w is -9223372036854775807, expected -2147483647"},
      {MakeConvolution({.pad_h = 1, .pad_h_end = -7}), {src, filter}, "padded input of 2"},
      {MakeConvolution({.pad_h = kHuge}), {src, filter}, "pad_h is 9223372036854775807"},
      {MakeConvolution({.stride_h = kHuge, .dilate_h = kHuge}), {src, filter}, "stride_h is"},
      {MakeConvolution({.dilate_w = 2147483647}),
       {src, filter},
       "larger than the padded input of 8"},
      {MakeConvolution({.pad_h = 2147483647, .pad_w = 2147483647}),
       {src, filter},
       "is larger than"},
      {MakeConvolution({.dilate_h = 4}), {src, filter}, "window_h is 3 (dilated: 9), larger than"},
  });
}

TEST(Convolution, RefusesOtherDTypes) {
  const InputInfo half{{DType::kFloat16, {1, 1, 4, 4}}}, single{{DType::kFloat32, {1, 1, 4, 4}}};
  const ConvolutionForward op{ConvolutionParam()};
  const InputInfo whole{{DType::kInt32, {1, 1, 4, 4}}};
  EXPECT_TRUE(
      FailsWith(op.Infer({whole, whole}).status(), "input is Int32{1,1,4,4}, expected floats"));
  EXPECT_TRUE(
      FailsWith(op.Infer({half, single}).status(), "filter is Float32{1,1,4,4}, expected Float16"));
  EXPECT_TRUE(
      FailsWith(op.Infer({single, half}).status(), "filter is Float16{1,1,4,4}, expected Float32"));
}

TEST(Convolution, ParametersTravelUnderMegEnginesNames) {
  const ConvolutionParam param{
      .sparse = SparseMode::kGroup, .stride_h = 2, .pad_w = 1, .pad_w_end = 3};
  EXPECT_EQ(ToString(ToParams(param)),
            "compute_mode=DEFAULT format=NCHW sparse=GROUP mode=CROSS_CORRELATION stride_h=2 "
            "stride_w=1 pad_h=0 pad_w=1 pad_w_end=3 dilate_h=1 dilate_w=1");
  const auto parsed = FromParams<ConvolutionParam>(ToParams(param));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(ToParams(*parsed), ToParams(param));
}

}  // namespace
}  // namespace ashlar::testing
