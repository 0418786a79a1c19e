// --pixels: models that convert the bytes of pictures themselves.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

class PixelInputTest : public CommandTest {
 protected:
  static constexpr double kMean[] = {10, 20.5, 30}, kScale[] = {0.5, 0.25, 0.125};

  // Writes a model of images {1,3,6,5} whose output is the input's negative.
  static void WriteNegative(DType dtype = DType::kFloat32) {
    GraphMaker maker;
    const int x = maker.Input("x", {1, 3, 6, 5}, dtype);
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kNegate}, {x}, "y"));
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("negative.ash"))));
  }
  static HostTensor WritePixels(int64_t images, int64_t height, int64_t width) {
    std::mt19937_64 random(11);
    HostTensor pixels = RandomTensor(random, DType::kUint8, {images, height, width, 3}, 0, 255);
    EXPECT_TRUE(IsOk(WriteNpy(pixels, Path("pixels.npy"))));
    return pixels;
  }
  static HostTensor OutputOf(const std::string& command) {
    const ProcessResult run = Ashlar(command + " --input pixels.npy -o out.npz");
    EXPECT_EQ(run.exit_code, 0) << command << ": " << run.err;
    if (run.exit_code != 0) return HostTensor::Zeros(DType::kFloat32, {1});
    return testing::Value(ReadNpz(Path("out.npz")))[0].second;
  }

  // The value of output row or column `to` from `from` ones: a triangle as wide as the step, at
  // least 1, around its centre.
  template <typename At>
  static double Sampled(int64_t to, int64_t from, int64_t i, const At& at) {
    const double step = static_cast<double>(from) / static_cast<double>(to);
    const double width = std::max(step, 1.0), centre = (static_cast<double>(i) + 0.5) * step - 0.5;
    double sum = 0, weights = 0;
    for (int64_t j = 0; j < from; ++j) {  // nothing outside
      const double weight = std::max(0.0, 1 - std::abs(static_cast<double>(j) - centre) / width);
      weights += weight;
      sum += weight * at(j);
    }
    return sum / weights;
  }
};

// In double precision, for pictures of the input's size, smaller and larger ones.
TEST_F(PixelInputTest, AreScaledOrderedAndNormalised) {
  WriteNegative();
  for (const auto& [height, width] :
       {std::pair<int64_t, int64_t>(6, 5), {3, 4}, {13, 11}, {7, 3}}) {
    for (const bool bgr : {false, true}) {
      SCOPED_TRACE(absl::StrCat(height, "x", width, bgr ? " bgr" : " rgb"));
      const HostTensor pixels = WritePixels(1, height, width);
      const HostTensor got =
          OutputOf(absl::StrCat("run negative.ash --pixels x=", height, "x", width,
                                bgr ? ",bgr" : "", ",mean:10/20.5/30,scale:0.5/0.25/0.125"));
      ASSERT_EQ(got.num_elements(), 90);
      for (int64_t i = 0; i < got.num_elements(); ++i) {
        const int64_t c = i / 30, from = bgr ? 2 - c : c;
        const double value = Sampled(6, height, i / 5 % 6, [&](int64_t y) {
          return Sampled(5, width, i % 5,
                         [&](int64_t x) { return pixels.At((y * width + x) * 3 + from); });
        });
        EXPECT_NEAR(got.At(i), (kMean[c] - value) * kScale[c], 1e-4) << i;
      }
    }
  }
}

TEST_F(PixelInputTest, WrittenModelsTakePixelsAndAnyNumberOfImages) {
  WriteNegative();
  const std::string pixels = " --pixels x=9x7,imagenet";
  for (const char* file : {"made.ash", "made.onnx"}) {
    SCOPED_TRACE(file);
    ASSERT_EQ(Ashlar(absl::StrCat("convert negative.ash", pixels, " -o ", file)).exit_code, 0);
    WritePixels(1, 9, 7);
    const HostTensor expected = OutputOf("run negative.ash" + pixels);
    const HostTensor got = OutputOf(absl::StrCat("run ", file));
    for (int64_t i = 0; i < got.num_elements(); ++i) {
      ASSERT_NEAR(got.At(i), expected.At(i), 1e-5) << i;
    }
    WritePixels(3, 9, 7);
    EXPECT_EQ(OutputOf(absl::StrCat("run ", file, " --shape x=3x9x7x3")).num_elements(), 270);
  }
}

// A picture file is scaled to the size of the pixels.
TEST_F(PixelInputTest, TakeThePicturesThatTheModelTakes) {
  WriteNegative();
  std::string photo;
  for (int i = 0; i < 6 * 5 * 3; ++i) photo.push_back(static_cast<char>(i * i));
  Write("photo.ppm", "P6\n5 6\n255\n" + photo);
  const std::string run = " --input photo.ppm --json";
  const auto range = [&](const std::string& options) {
    const ProcessResult result = Ashlar("run negative.ash" + options + run);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? result.Json()["outputs"][0]["mean"].get<double>() : NAN;
  };
  EXPECT_NEAR(range(""), range(" --pixels imagenet"), 1e-5);
  EXPECT_NEAR(range(" --color bgr"), range(" --pixels bgr,imagenet --color bgr"), 0.2);
}

// The floats of a picture are larger than the arena of a plan in tiles, so they never exist at
// once.
TEST_F(PixelInputTest, ArePartOfThePlanAndOfItsTiles) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o net.ash -q").exit_code, 0);
  const std::string pixels = " --pixels 256x320,imagenet --memory-budget min";
  const ProcessResult plan = Ashlar("plan net.ash --json" + pixels + kQuick);
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const nlohmann::json document = plan.Json();
  EXPECT_EQ(document["pools"]["input"]["planned_bytes"], 256 * 320 * 3);
  EXPECT_LT(document["arena_bytes"], 256 * 320 * 3 * 4 / 3);
  const ProcessResult verified = Ashlar("verify net.ash" + pixels + kQuick);
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

TEST_F(PixelInputTest, FaultsAreNamed) {
  WriteNegative();
  ExpectEndings(
      "plan negative.ash --pixels ",
      {{"y=6x5", 2, "--pixels y=6x5: no input 'y'; the model has: x"},
       {"6", 2, "'6' is no part of pixels; expected a size such as 480x640"},
       {"6x0", 2, "'6x0' is no part"},
       {"x=", 2, "'' is no part"},
       {"mean:1/2", 2, "mean has 2 values, and the input 3 channels"},
       {"scale:a", 2, "'scale:a': expected a number, or one for each channel"},
       {"rgb --pixels rgb", 2, "input 'x' is Uint8{1,6,5,3}, expected floats {N,C,H,W}"}});
}

}  // namespace
}  // namespace ashlar::testing
