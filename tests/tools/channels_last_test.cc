// --input-layout nhwc: models whose images have their channels last.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "opr/convolution.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kN = 2, kC = 3, kH = 4, kW = 5;

class ChannelsLastTest : public CommandTest {
 protected:
  // Expects that a model with and without the option gives the same bits for `x`, in the same
  // arena, for one thread and two.
  static void ExpectSameArenaAndBits(const std::string& model, const HostTensor& x) {
    SCOPED_TRACE(model);
    ASSERT_TRUE(IsOk(WriteNpy(x, Path("x.npy"))));
    for (const int threads : {1, 2}) {
      const std::string by = absl::StrCat(model, " --threads ", threads);
      const auto bytes = [](const ProcessResult& plan) {
        EXPECT_EQ(plan.exit_code, 0) << plan.err;
        return plan.exit_code == 0 ? plan.Json()["arena_bytes"].get<int64_t>() : -1;
      };
      EXPECT_LE(bytes(Ashlar(absl::StrCat("plan ", by, " --json --input-layout nhwc"))),
                bytes(Ashlar(absl::StrCat("plan ", by, " --json"))));
      ASSERT_EQ(Ashlar(absl::StrCat("run ", by, " --input x.npy --layout nhwc -o a.npz")).exit_code,
                0);
      const ProcessResult run =
          Ashlar(absl::StrCat("run ", by, " --input x.npy --input-layout nhwc -o b.npz"));
      ASSERT_EQ(run.exit_code, 0) << run.err;
      const HostTensor planes = testing::Value(ReadNpz(Path("a.npz")))[0].second;
      const HostTensor last = testing::Value(ReadNpz(Path("b.npz")))[0].second;
      EXPECT_TRUE(Near(last, IsImage(planes) ? Last(planes) : planes, 0));
    }
  }
  static bool IsImage(const HostTensor& tensor) { return tensor.shape().rank() == 4; }
  static HostTensor Last(const HostTensor& planes) {
    return testing::Value(Dimshuffle(DimshuffleParam{{0, 2, 3, 1}}).Evaluate({{planes}}))[0];
  }

  // Writes a model of images {N,C,H,W}, with a weight for each channel.
  static void WriteScaled(DType dtype) {
    GraphMaker maker;
    const int x = maker.Input("x", {kN, kC, kH, kW}, dtype);
    HostTensor weights = HostTensor::Zeros(dtype, {1, kC, 1, 1});
    for (int64_t c = 0; c < kC; ++c) weights.Set(c, static_cast<double>(c + 1));
    const int y = maker.Add<Elemwise>({ScalarFunction::kMul}, {x, maker.Constant(weights)}, "y");
    maker.Output(y);
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("scaled.ash"))));
  }
};

TEST_F(ChannelsLastTest, InputsAndOutputsArePermuted) {
  for (const DType dtype : {DType::kFloat32, DType::kUint16, DType::kFloat64}) {
    SCOPED_TRACE(Name(dtype));
    WriteScaled(dtype);
    std::mt19937_64 random(3);
    const HostTensor x = RandomTensor(random, dtype, {kN, kH, kW, kC}, 0, 90);
    ASSERT_TRUE(IsOk(WriteNpy(x, Path("x.npy"))));
    // The written models take images with their channels last.
    for (const char* file : {"last.ash", "last.onnx"}) {
      const ProcessResult convert =
          Ashlar(absl::StrCat("convert scaled.ash --input-layout nhwc -o ", file));
      ASSERT_EQ(convert.exit_code, 0) << convert.err;
    }
    for (const char* command :
         {"run scaled.ash --input-layout nhwc", "run last.ash", "run last.onnx"}) {
      SCOPED_TRACE(command);
      const ProcessResult run = Ashlar(absl::StrCat(command, " --input x.npy -o y.npz"));
      ASSERT_EQ(run.exit_code, 0) << run.err;
      const HostTensor y = testing::Value(ReadNpz(Path("y.npz")))[0].second;
      ASSERT_EQ(y.shape(), x.shape());
      ASSERT_EQ(y.dtype(), dtype);
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        HostTensor product = HostTensor::Zeros(dtype, {1});
        product.Set(0, x.At(i) * static_cast<double>(i % kC + 1));
        ASSERT_EQ(y.At(i), product.At(0)) << i;
      }
    }
  }
}

// Regression: images came after all other inputs and outputs.
TEST_F(ChannelsLastTest, BindingsKeepTheirOrder) {
  GraphMaker maker;
  const int x = maker.Input("x", {kN, kC, kH, kW}), bias = maker.Input("bias", {kW});
  const int y = maker.Add<Elemwise>({ScalarFunction::kAdd}, {x, bias}, "y");
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kRelu}, {y}, "image"));
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kRelu}, {bias}, "vector"));
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("two.ash"))));
  for (const char* options : {"", " --input-layout nhwc", " --pixels x=rgb"}) {
    SCOPED_TRACE(options);
    ASSERT_EQ(Ashlar(absl::StrCat("convert two.ash -o made.ash", options)).exit_code, 0);
    const Graph graph = testing::Value(ReadModel(Path("made.ash")));
    ASSERT_EQ(graph.inputs().size(), 2u);
    ASSERT_EQ(graph.outputs().size(), 2u);
    EXPECT_EQ(graph.inputs()[0].name, "x");
    EXPECT_EQ(graph.inputs()[1].name, "bias");
    EXPECT_EQ(graph.outputs()[0].name, "image");
    EXPECT_EQ(graph.outputs()[1].name, "vector");
  }
}

// Convolutions read the caller's images where they lie, and images that are results are converted
// once. The transposed copy took more arena than the model without it.
TEST_F(ChannelsLastTest, ImagesAreNotCopied) {
  std::mt19937_64 random(7);
  const HostTensor x = RandomTensor(random, {1, 224, 224, 3}, -2, 2);
  for (const std::string name : {"resnet18", "mobilenet_v2", "squeezenet", "inception_v1"}) {
    ASSERT_EQ(Ashlar(absl::StrCat("zoo ", name, " -o zoo.ash")).exit_code, 0);
    ExpectSameArenaAndBits("zoo.ash", x);
  }
  ASSERT_EQ(Ashlar("zoo resnet18 --headless --image 64 -o zoo.ash").exit_code, 0);
  ExpectSameArenaAndBits("zoo.ash", RandomTensor(random, {1, 64, 64, 3}, -2, 2));
  const ProcessResult plan = Ashlar("plan zoo.ash --input-layout nhwc --json");
  for (const auto& chunk : plan.Json()["chunks"]) {
    EXPECT_THAT(chunk["name"].get<std::string>(), Not(HasSubstr("layout/")));
  }
}

// Dense convolutions and convolutions by channel read images of few channels, of an incomplete
// block and of several.
TEST_F(ChannelsLastTest, ConvolutionsOfAnyChannels) {
  std::mt19937_64 random(9);
  for (const int64_t channels : {1, 3, 8, 9, 15, 16, 20}) {
    for (const bool by_channel : {false, true}) {
      SCOPED_TRACE(absl::StrCat(channels, by_channel ? " by channel" : ""));
      GraphMaker maker;
      const int x = maker.Input("x", {2, channels, 13, 11});
      ConvolutionParam param;
      param.stride_h = 2;
      param.pad_h = param.pad_w = 1;
      param.sparse = by_channel ? SparseMode::kGroup : SparseMode::kDense;
      const Shape filter = by_channel ? Shape{channels, 1, 1, 3, 3} : Shape{20, channels, 3, 3};
      const int weights = maker.Constant(RandomTensor(random, filter));
      maker.Output(maker.Add<ConvolutionForward>(param, {x, weights}, "y"));
      ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("conv.ash"))));
      ExpectSameArenaAndBits("conv.ash", RandomTensor(random, {2, 13, 11, channels}));
    }
  }
}

// The images of a camera are scaled before they are convolved, and only then seen as planes.
TEST_F(ChannelsLastTest, PixelsAreConvertedInOnePass) {
  ASSERT_EQ(Ashlar("zoo squeezenet -o zoo.ash").exit_code, 0);
  const ProcessResult plan = Ashlar("plan zoo.ash --pixels imagenet --json");
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  for (const auto& chunk : plan.Json()["chunks"]) {
    EXPECT_THAT(chunk["name"].get<std::string>(), Not(HasSubstr("planes")));
  }
}

TEST_F(ChannelsLastTest, ImagesOfBytesAreNotCopied) {
  const std::string folder = SharedData("data/int8/tiny");
  if (!HasSharedData("data/int8/tiny")) GTEST_SKIP() << "no ../shared/data/int8/tiny";
  std::mt19937_64 random(8);
  const auto bytes = [&](const Shape& shape) {
    return RandomTensor(random, DType::kInt8, shape, -128, 127);
  };
  ExpectSameArenaAndBits(folder + "/vww.onnx", bytes({1, 96, 96, 3}));
  ExpectSameArenaAndBits(folder + "/ic.onnx", bytes({1, 32, 32, 3}));
  ExpectSameArenaAndBits(folder + "/kws.onnx", bytes({1, 49, 10, 1}));
}

// Regression: the bytes {N,H,W,C} of pixels were permuted once more.
TEST_F(ChannelsLastTest, PixelsStayAsCamerasGiveThem) {
  WriteScaled(DType::kFloat32);
  std::mt19937_64 random(9);
  ASSERT_TRUE(
      IsOk(WriteNpy(RandomTensor(random, DType::kUint8, {kN, kH, kW, kC}, 0, 255), Path("x.npy"))));
  const auto output = [](const std::string& options) {
    const ProcessResult run =
        Ashlar("run scaled.ash --pixels imagenet --input x.npy -o y.npz" + options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return testing::Value(ReadNpz(Path("y.npz")))[0].second;
  };
  EXPECT_TRUE(Near(output(" --input-layout nhwc"), Last(output("")), 0));
}

// Regression: images {N,H,W,C} were taken for {N,C,H,W}.
TEST_F(ChannelsLastTest, TensorFlowLiteModelsStayAsTheyAre) {
  const std::string model = SharedData("data/tflite/conv_1x1.float32.tflite");
  const auto document = [&](const std::string& options) {
    const ProcessResult run = Ashlar("run " + model + " --json -q" + options);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.Json()["outputs"];
  };
  EXPECT_EQ(document(" --input-layout nhwc"), document(""));
}

TEST_F(ChannelsLastTest, AModelWithoutImagesIsRefused) {
  GraphMaker maker;
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kNegate}, {maker.Input("x", {2, 3})}, "y"));
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("rows.ash"))));
  const ProcessResult plan = Ashlar("plan rows.ash --input-layout nhwc");
  EXPECT_EQ(plan.exit_code, 2);
  EXPECT_THAT(plan.err, HasSubstr("--input-layout nhwc: no input or output is {N,C,H,W}"));
}

}  // namespace
}  // namespace ashlar::testing
