#include "opr/quantized_conv.h"

#include <gtest/gtest.h>

#include "opr/conv_bias.h"
#include "tests/opr/refusal.h"
#include "tests/support/operators.h"

namespace ashlar::testing {
namespace {

constexpr DType kBytes = DType::kQuantized8Asymm;

TensorType Quantised(DType dtype, Shape shape, std::vector<float> scales, int32_t zero_point = 0) {
  return {dtype, std::move(shape), Format::kDefault,
          Value(Quantization::Make(dtype, std::move(scales), zero_point))};
}

// A layer on an image of 3 channels, with 2 output channels and 1x1 windows.
struct Layer {
  ConvBiasParam param;
  std::vector<TensorType> types = {
      Quantised(kBytes, {1, 3, 4, 5}, {0.5f}, 7),
      Quantised(DType::kQuantizedS8, {2, 3, 1, 1}, {0.25f, 0.125f}),
      Quantised(DType::kQuantizedS32, {1, 2, 1, 1}, {0.125f, 0.0625f}),
  };

  Layer() { param.output = {kBytes, 0.5, 3}; }
  void Refuse(const std::string& message) const {
    ExpectRefused(ConvBiasForward(param), types, message);
  }
};

Layer WithZ() {
  Layer layer;
  layer.param.addend = {DType::kQuantizedS8, 0.25, -3};
  layer.types.push_back(Quantised(kBytes, {1, 2, 4, 5}, {0.75f}, 200));
  return layer;
}

TEST(QuantizedConv, TakesWhatItSays) {
  for (const Layer& layer : {Layer(), WithZ()}) {
    std::vector<InputInfo> inputs;
    for (const TensorType& type : layer.types) inputs.push_back({type});
    EXPECT_EQ(Value(ConvBiasForward(layer.param).Infer(inputs))[0],
              Quantised(kBytes, {1, 2, 4, 5}, {0.5f}, 3));
  }
}

TEST(QuantizedConv, WrongTypesAreRefusedByName) {
  Layer layer;
  layer.types[1] = Quantised(DType::kQuantizedS8, {2, 3, 1, 1}, {0.25f, 0.125f}, 1);
  layer.Refuse("expected zero point 0");
  layer = Layer();
  layer.types[1] = Quantised(DType::kQuantizedS8, {2, 3, 1, 1}, {0.25f, 0.125f, 0.5f});
  layer.Refuse("with 3 scales, expected zero point 0 and one scale or one for each of 2 channels");
  layer = Layer();
  layer.types[2] = Quantised(DType::kQuantizedS32, {1, 2, 1, 1}, {0.125f, 0.07f});
  layer.Refuse("bias is ");
  layer = Layer();
  layer.types[2] = {DType::kFloat32, {1, 2, 1, 1}};
  layer.Refuse("bias is ");
  layer = Layer();
  layer.param.nonlineMode = ScalarFunction::kTanh;
  layer.Refuse("nonlineMode is TANH");
}

TEST(QuantizedConv, AnOutputTypeThatIsNoneIsRefusedByName) {
  for (const int64_t zero_point : {-1, 256, 1 << 20}) {
    Layer layer;
    layer.param.output.zero_point = zero_point;
    layer.Refuse(absl::StrCat("the zero point is ", zero_point, ", expected 0 to 255"));
    layer = WithZ();
    layer.param.addend = {kBytes, 0.25, zero_point};
    layer.Refuse(absl::StrCat("the zero point is ", zero_point, ", expected 0 to 255"));
  }
  for (const double scale : {-0.5, 1e300, 1e-300}) {
    Layer layer;
    layer.param.output.scale = scale;
    layer.Refuse("expected a positive number");
  }
  Layer layer;
  layer.param.output.dtype = DType::kQuantizedS32;
  layer.Refuse("QuantizedS32");
}

// 31 bits hold at most 65,793 products of 255 and 128.
TEST(QuantizedConv, SumsThat32BitsMayNotHoldAreRefused) {
  for (const int64_t channels : {65793, 65794}) {
    Layer layer;
    layer.types[0] = Quantised(kBytes, {1, channels, 1, 1}, {0.5f});
    layer.types[1] = Quantised(DType::kQuantizedS8, {2, channels, 1, 1}, {0.25f, 0.125f});
    if (channels == 65794) {
      layer.Refuse("sums of 65794 products, which 32 bits may not hold: at most 65793");
    } else {
      std::vector<InputInfo> inputs;
      for (const TensorType& type : layer.types) inputs.push_back({type});
      EXPECT_TRUE(ConvBiasForward(layer.param).Infer(inputs).ok());
    }
  }
}

TEST(QuantizedConv, AResidualNeedsTheTypeThatIsRoundedToBeforeItIsAdded) {
  Layer layer = WithZ();
  layer.param.addend = {};
  layer.Refuse("addend_scale is 0, expected one to which sums are rounded before z is added");
  layer = WithZ();
  layer.types.pop_back();
  layer.Refuse("addend_scale is 0.25, expected none without z");
  layer = WithZ();
  layer.param.nonlineMode = ScalarFunction::kClamp;
  layer.param.parameters = {0, 6};
  layer.Refuse("nonlineMode is CLAMP, of quantised images and z expected IDENTITY or RELU");
  layer = WithZ();
  layer.types[3] = Quantised(kBytes, {1, 2, 4, 1}, {0.75f});
  layer.Refuse("input 3 is ");
  layer = WithZ();
  layer.types[3] = {DType::kFloat32, {1, 2, 4, 5}};
  layer.Refuse("input 3 is ");
  layer = WithZ();
  for (TensorType& type : layer.types) type = {DType::kFloat32, type.shape};
  layer.param.output = {};
  layer.Refuse("addend_scale is for quantised images");
}

TEST(QuantizedConv, FixedPointNumbersAddTwoTensorsOfLikeScales) {
  Layer layer;
  layer.param.fixed_point_sum = true;
  layer.Refuse("fixed_point_sum is true, expected false without z");
  layer = WithZ();
  layer.param.fixed_point_sum = true;
  layer.types[3] = Quantised(kBytes, {1, 2, 4, 5}, {2000});
  layer.Refuse("expected both from 1/1024 to below 256 of the output's");
  const TensorType bytes = Quantised(kBytes, {3}, {0.5f});
  const auto sum = [](ScalarFunction mode) {
    return ElemwiseMultiType({{mode}, {kBytes, 1, 0}, {}, /*fixed_point_sum=*/true});
  };
  ExpectRefused(sum(ScalarFunction::kMul), {bytes, bytes}, "mode is MUL");
  ExpectRefused(sum(ScalarFunction::kAdd), {bytes, {DType::kFloat32, {3}}}, "input 1 is Float32");
  EXPECT_TRUE(sum(ScalarFunction::kAdd).Infer({{{bytes}, {bytes}}}).ok());
}

// One product per channel: round(5 * 3 / 2) = 8 (half to even), times 0.5 is 4; with 2.25 of z, and
// with -6.
TEST(QuantizedConv, ASumIsRoundedTwice) {
  const auto bytes = [](DType dtype, Shape shape, std::vector<int8_t> values, float scale,
                        int32_t zero_point = 0) {
    return HostTensor::FromValues<int8_t>(StoredAs(DType::kQuantizedS8), std::move(shape), values)
        .As(dtype, Value(Quantization::Make(dtype, {scale}, zero_point)));
  };
  const HostTensor src = bytes(DType::kQuantizedS8, {1, 1, 1, 2}, {5, 5}, 0.5f);
  const HostTensor filter = bytes(DType::kQuantizedS8, {1, 1, 1, 1}, {3}, 0.5f);
  const HostTensor bias =
      HostTensor::Zeros(DType::kInt32, {1, 1, 1, 1})
          .As(DType::kQuantizedS32, Value(Quantization::Make(DType::kQuantizedS32, {0.25f})));
  const HostTensor z = bytes(DType::kQuantizedS8, {1, 1, 1, 2}, {10, -23}, 0.25f, 1);
  ConvBiasParam param;
  param.addend = {DType::kQuantizedS8, 0.5, 0};
  param.output = {DType::kQuantizedS8, 0.5, -1};
  const auto run = [&](ScalarFunction mode) {
    param.nonlineMode = mode;
    const HostTensor y = Value(ConvBiasForward(param).Evaluate({src, filter, bias, z}))[0];
    return std::vector<double>{y.At(0), y.At(1)};
  };
  EXPECT_EQ(run(ScalarFunction::kIdentity), (std::vector<double>{11, -5}));  // 12.5 - 1, -4 - 1
  EXPECT_EQ(run(ScalarFunction::kRelu), (std::vector<double>{11, -1}));
}

}  // namespace
}  // namespace ashlar::testing
