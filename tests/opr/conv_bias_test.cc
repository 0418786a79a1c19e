#include "opr/conv_bias.h"

#include <gtest/gtest.h>

#include <cmath>

#include "opr/elemwise.h"
#include "tests/opr/convolution_reference.h"
#include "tests/opr/seeds.h"
#include "tests/support/activations.h"
#include "tests/support/operators.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeConvBias(ConvBiasParam param = {}) {
  return std::make_shared<const ConvBiasForward>(param);
}

Shape OutputOf(const ConvolutionCase& c) {
  return InferConvolution(c.param, {DType::kFloat32, c.src.shape()},
                          {DType::kFloat32, c.filter.shape()})
      ->output();
}

double Activate(const ConvBiasParam& p, double x) {
  return Apply(ElemwiseParam{p.nonlineMode, p.parameters}, x);
}

TEST(ConvBias, EvaluatesItsDefinition) {
  ForSeeds(50, [&](int seed, Random& random) {
    const ConvolutionCase c = RandomConvolution(random);
    const Shape output = OutputOf(c);
    const ConvBiasParam param{c.param, Activations()[seed % Activations().size()], -0.5, 0.75};
    std::vector<HostTensor> inputs = {c.src, c.filter,
                                      RandomTensor(random, Shape{1, output[1], 1, 1})};
    if (seed % 2 == 1) inputs.push_back(RandomTensor(random, output));
    std::vector<double> expected = ConvolutionReference(c.param, c.src, c.filter, output);
    for (size_t i = 0; i < expected.size(); ++i) {
      const int64_t channel = static_cast<int64_t>(i) / (output[2] * output[3]) % output[1];
      const double z = inputs.size() > 3 ? inputs[3].At(i) : 0;
      expected[i] = Activate(param, expected[i] + inputs[2].At(channel) + z);
    }
    EXPECT_TRUE(Near(Evaluate(*MakeConvBias(param), inputs), expected, 1e-6));
  });
}

TEST(ConvBias, CountsTheBiasOnlyWithoutZ) {
  const TensorType src{DType::kFloat32, {2, 3, 5, 5}}, filter{DType::kFloat32, {4, 3, 1, 1}},
      bias{DType::kFloat32, {1, 4, 1, 1}}, output{DType::kFloat32, {2, 4, 5, 5}};
  EXPECT_EQ(MakeConvBias()->Computation(OwnedSite{{{src}, {filter}, {bias}}, {output}}),
            200 * 3 * 2 + 200);
  EXPECT_EQ(MakeConvBias()->Computation(OwnedSite{{{src}, {filter}, {bias}, {output}}, {output}}),
            200 * 3 * 2);
}

TEST(ConvBias, OverwritesZ) {
  const TensorType src{DType::kFloat32, {2, 4, 5, 5}}, filter{DType::kFloat32, {4, 4, 1, 1}},
      bias{DType::kFloat32, {1, 4, 1, 1}};
  EXPECT_TRUE(OverwrittenBy(*MakeConvBias(), {{{src}, {filter}, {bias}}, {src}}).empty());
  EXPECT_EQ(OverwrittenBy(*MakeConvBias(), {{{src}, {filter}, {bias}, {src}}, {src}}),
            std::vector<int>{3});
  const TensorType blocked{DType::kFloat32, {2, 4, 5, 5}, Format::kNCHW16c};
  EXPECT_TRUE(
      OverwrittenBy(*MakeConvBias(), {{{src}, {filter}, {bias}, {blocked}}, {src}}).empty());
}

// Bounds of the source act like a clamp before the convolution; zeros of the padding stay.
TEST(ConvBias, BoundsOfTheSourceAreAClampInFront) {
  ForSeeds(20, [&](int, Random& random) {
    const ConvolutionCase c = RandomConvolution(random);
    const Shape output = OutputOf(c);
    const HostTensor bias = RandomTensor(random, Shape{1, output[1], 1, 1});
    ConvBiasParam param{c.param};
    param.src_low = 0.25;
    param.src_high = 0.75;
    HostTensor clamped = c.src;
    for (int64_t i = 0; i < clamped.num_elements(); ++i) {
      clamped.Set(i, std::fmin(std::fmax(c.src.At(i), 0.25), 0.75));
    }
    const HostTensor want = Evaluate(*MakeConvBias({c.param}), {clamped, c.filter, bias});
    EXPECT_TRUE(Near(Evaluate(*MakeConvBias(param), {c.src, c.filter, bias}), want, 0));
  });
}

TEST(ConvBias, RefusesWhatItCannotCompute) {
  const Shape src{1, 3, 8, 8}, filter{4, 3, 3, 3}, bias{1, 4, 1, 1};
  ConvBiasParam bounds;
  bounds.src_low = 2;
  bounds.src_high = 1;
  ExpectRejected({
      {MakeConvBias(bounds), {src, filter, bias}, "src_low is 2, expected less than src_high (1)"},
      {MakeConvBias(), {src, filter}, "2 inputs, expected 3"},
      {MakeConvBias(), {src, filter, {4}}, "bias is Float32{4}, expected {1,4,1,1}"},
      {MakeConvBias(), {src, filter, {1, 3, 1, 1}}, "bias is Float32{1,3,1,1}, expected {1,4,1,1}"},
      {MakeConvBias(),
       {src, filter, bias, {1, 4, 8, 8}},
       "z is Float32{1,4,8,8}, expected {1,4,6,6}"},
      {MakeConvBias({{}, ScalarFunction::kExp}), {src, filter, bias}, "nonlineMode is EXP"},
      {MakeConvBias({{}, ScalarFunction::kClamp, {1, 0}}),
       {src, filter, bias},
       "lo is 1, expected at most hi"},
      {MakeConvBias({{}, ScalarFunction::kClamp, NAN, 0}), {src, filter, bias}, "lo is nan"},
  });
}

}  // namespace
}  // namespace ashlar::testing
