// 8-bit models on the emulated GPU, through the command: they must give the CPU's bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/random.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/emulated_gpu/command_tests/emulated_command.h"
#include "tests/support/environment.h"
#include "tests/support/normal_tensor.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kNoTolerance[] = " --rtol 0 --atol 0";

class EmulatedQuantizedTest : public EmulatedCommandTest {
 protected:
  // Writes a graph and its quantised version int8.ash, with random images.
  static void Quantize(const std::string& model, const Shape& images) {
    Random random(1);
    ASSERT_TRUE(IsOk(WriteNpz({{"data", NormalTensor(random, images)}}, Path("data.npz"))));
    Succeed(absl::StrCat("quantize ", model, " --calibrate data.npz -o int8.ash"));
  }
  // Expects every value that both sides have to be the same, except values computed in floats.
  // Returns how many are the same.
  static int ExpectTheCpusBits(const std::string& model) {
    const nlohmann::json compared =
        Succeed(absl::StrCat("compare ", model,
                             " --device gpu0:0 --device-b cpu0:0 --layers all --rtol 1e-5 --json "
                             "--quiet"))
            .Json();
    int same = 0;
    for (const nlohmann::json& row : compared["layers"]) {
      if (row["type"] == "Softmax") continue;
      EXPECT_EQ(row["max_abs"], 0) << row;
      ++same;
    }
    return same;
  }
};

// The part that stays in Float32 (Softmax) is close.
TEST_F(EmulatedQuantizedTest, AQuantizedModelRuns) {
  Quantize("model.ash", {4, 3, 16, 16});
  Succeed("compare int8.ash --device gpu0:0 --rtol 1e-5");
  if (LongTests()) {
    Succeed(
        absl::StrCat("compare int8.ash --device gpu0:0 --rtol 1e-5 --memory-budget min", kQuick));
  }
  EXPECT_EQ(Succeed("verify int8.ash --device gpu0:0 --json --quiet").Json()["ok"], true);
  EXPECT_GT(ExpectTheCpusBits("int8.ash"), 3);
  // Bytes lie with channels last, although float images stay row-major: they were not asked to be
  // TF32.
  const std::string profile = Succeed("profile int8.ash --device gpu0:0 --json --quiet").out;
  EXPECT_THAT(profile, HasSubstr("int8:direct:fours"));
}

// tune times the library's products beside our own kernel. If the record names a product, its
// workspace is in the plan, also in a plan file, and the run uses no more. Without a device, plans
// have no library products.
TEST_F(EmulatedQuantizedTest, ProductsOfTheLibraryAreTimedAndTaken) {
  Quantize("model.ash", {4, 3, 16, 16});
  const std::string on_device = " int8.ash --device gpu0:0 --json --quiet";
  const std::string with_room = on_device + " --extra-scratch 1MiB";
  std::string own, product;
  const nlohmann::json tuned = Succeed("tune" + with_room).Json();
  for (const nlohmann::json& problem : tuned["problems"]) {
    own = problem["trials"][0]["kernel"].get<std::string>();
    for (const nlohmann::json& trial : problem["trials"]) {
      EXPECT_GT(trial["ms"], 0) << trial;
      product = trial["kernel"].get<std::string>();
    }
  }
  EXPECT_EQ(own, "int8:direct:fours");
  ASSERT_THAT(product, HasSubstr("int8:windows+cublaslt:"));
  EXPECT_THAT(Read("kernels.json"), HasSubstr(own)) << "a launch is faster than three";
  Write("kernels.json", absl::StrReplaceAll(Read("kernels.json"), {{own, product}}));
  const nlohmann::json planned = Succeed("plan" + with_room + " -o int8.plan").Json();
  EXPECT_THAT(planned["workspaces"].dump(), HasSubstr(product));
  EXPECT_EQ(Succeed("verify" + on_device + " --plan int8.plan").Json()["ok"], true);
  EXPECT_GT(ExpectTheCpusBits("int8.ash --extra-scratch 1MiB"), 3);
  SetMachine("driver=0");
  EXPECT_THAT(Succeed("plan" + with_room).out, Not(HasSubstr("cublaslt:")));
}

// Residuals, depthwise convolutions and ReLU6 (mobilenet_v2); concatenations (squeezenet).
TEST_F(EmulatedQuantizedTest, NetworksGiveTheCpusBits) {
  if (kSanitized) GTEST_SKIP() << "the accesses are those of the small model";
  for (const auto& [name, layers] : {std::pair("mobilenet_v2", 50), std::pair("squeezenet", 30)}) {
    SCOPED_TRACE(name);
    Succeed(absl::StrCat("zoo ", name, " --image 64 -o net.ash --quiet"));
    Quantize("net.ash", {2, 3, 64, 64});
    EXPECT_GT(ExpectTheCpusBits("int8.ash"), layers);
  }
}

// Handwritten digits, quantised by ONNX Runtime: the logits must equal the ones of an integer
// reference.
TEST_F(EmulatedQuantizedTest, DigitsGiveTheLogitsOfTheReference) {
  const NamedTensors named = Value(ReadNpz(SharedData("data/int8/digits/digits.npz")));
  const auto array = [&](const std::string& name) -> const HostTensor& {
    for (const auto& [each, value] : named) {
      if (each == name) return value;
    }
    ADD_FAILURE() << "no " << name;
    return named[0].second;
  };
  const float mean = array("mean").data<float>()[0], std = array("std").data<float>()[0];
  for (const std::string type : {"u8", "s8"}) {
    for (int64_t i = 0; i < (kSanitized ? 1 : 8); ++i) {
      SCOPED_TRACE(absl::StrCat(type, ", image ", i));
      HostTensor image = HostTensor::Zeros(DType::kFloat32, {1, 1, 8, 8});
      HostTensor logits = HostTensor::Zeros(DType::kFloat32, {1, 10});
      for (int64_t j = 0; j < 64; ++j) {
        const float pixel = static_cast<float>(array("test_images").At(i * 64 + j));
        image.mutable_data<float>()[static_cast<size_t>(j)] = (pixel / 255 - mean) / std;
      }
      for (int64_t j = 0; j < 10; ++j) logits.Set(j, array("logits_" + type).At(i * 10 + j));
      ASSERT_TRUE(IsOk(WriteNpy(image, Path("x.npy"))));
      ASSERT_TRUE(IsOk(WriteNpy(logits, Path("logits.npy"))));
      Succeed(absl::StrCat("compare ", SharedData("data/int8/digits/digits." + type + ".onnx"),
                           " --device gpu0:0 --input x.npy --ref logits.npy", kNoTolerance));
    }
  }
}

// The MLPerf Tiny models: products, residuals, depthwise convolutions, and windows of unequal
// height and width.
TEST_F(EmulatedQuantizedTest, TinyModelsGiveTheCpusBits) {
  if (!HasSharedData("data/int8/tiny")) GTEST_SKIP() << "no ../shared/data/int8";
  for (const char* name : {"ad", "ic", "kws", "vww"}) {
    SCOPED_TRACE(name);
    const std::string model = SharedData(absl::StrCat("data/int8/tiny/", name, ".onnx"));
    Succeed(absl::StrCat("compare ", model, " --device gpu0:0 --device-b cpu0:0", kNoTolerance));
    if (kSanitized) continue;
    EXPECT_GT(ExpectTheCpusBits(model), 5);
  }
}

// Single operators, with ties, extremes and zero points at the ends.
TEST_F(EmulatedQuantizedTest, NodesGiveTheBitsOfTheReference) {
  for (const char* name :
       {"add_ties", "average_pool_3x3_exclude_pad", "concat", "conv_dilated", "conv_extreme_s8",
        "conv_pads_differ", "conv_ties", "conv_zero_point_255", "depthwise_5x5_stride2", "gemm",
        "global_average_pool", "hard_swish", "matmul"}) {
    SCOPED_TRACE(name);
    const std::string path = absl::StrCat(SharedData("data/int8/nodes"), "/", name);
    NamedTensors inputs;
    for (auto& [array, value] : Value(ReadNpz(path + ".npz"))) {
      if (array.substr(0, 3) == "in_") inputs.push_back({array.substr(3), value});
      if (array != "reference") continue;
      ASSERT_TRUE(IsOk(WriteNpy(value, Path("reference.npy"))));
    }
    ASSERT_TRUE(IsOk(WriteNpz(inputs, Path("in.npz"))));
    Succeed(absl::StrCat("compare ", path, ".onnx --device gpu0:0 --input in.npz --ref ",
                         "reference.npy", kNoTolerance));
  }
}

}  // namespace
}  // namespace ashlar::testing
