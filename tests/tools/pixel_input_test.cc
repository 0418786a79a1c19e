// --pixels: models that convert the bytes of pictures themselves.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
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

  // Writes a model of images whose output is the input's negative.
  static void WriteNegative(const Shape& shape = {1, 3, 6, 5}) {
    GraphMaker maker;
    const int x = maker.Input("x", shape);
    maker.Output(maker.Add<Elemwise>({ScalarFunction::kNegate}, {x}, "y"));
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("negative.ash"))));
  }
  static HostTensor WritePixels(int64_t images, int64_t height, int64_t width) {
    std::mt19937_64 random(11);
    HostTensor pixels = RandomTensor(random, DType::kUint8, {images, height, width, 3}, 0, 255);
    EXPECT_TRUE(IsOk(WriteNpy(pixels, Path("pixels.npy"))));
    return pixels;
  }
  static HostTensor WriteFrames(int64_t images, int64_t height, int64_t width) {
    std::mt19937_64 random(12);
    HostTensor frames =
        RandomTensor(random, DType::kUint8, {images, height * 3 / 2, width}, 0, 255);
    EXPECT_TRUE(IsOk(WriteNpy(frames, Path("pixels.npy"))));
    return frames;
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

// Regression: height was taken for channels, in TensorFlow Lite and in Keras's ONNX files.
TEST_F(PixelInputTest, ModelsMayTakeChannelsLast) {
  WriteNegative({2, 3, 6, 5});
  WritePixels(2, 9, 7);
  const std::string pixels = " --pixels 9x7,bgr,imagenet";
  const HostTensor planes = OutputOf("run negative.ash" + pixels);
  WriteNegative({2, 6, 5, 3});
  const HostTensor last = OutputOf("run negative.ash" + pixels);
  ASSERT_EQ(last.shape(), Shape({2, 6, 5, 3}));
  for (int64_t i = 0; i < last.num_elements(); ++i) {
    const int64_t n = i / 90, place = i / 3 % 30, c = i % 3;
    EXPECT_NEAR(last.At(i), planes.At(n * 90 + c * 30 + place), 1e-5) << i;
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
      {{"y=6x5", 2, "--pixels y=6x5: negative.ash: no input 'y'; the model has: x"},
       {"6", 2, "'6' is no part of pixels; expected a size such as 480x640"},
       {"6x0", 2, "'6x0' is no part"},
       {"x=", 2, "'' is no part"},
       {"rgb,6x5,bgr", 2, "'rgb' and 'bgr' both say the order of colours"},
       {"imagenet,mean:1", 2, "'imagenet' and 'mean:1' both say the mean"},
       {"nv12,i420", 2, "'nv12' and 'i420' both say the layout"},
       {"mean:1/2", 2, "mean has 2 values, and the input 3 channels"},
       {"scale:a", 2, "'scale:a': expected a number, or one for each channel"},
       {"rgb --pixels rgb", 2, "input 'x' is Uint8{1,6,5,3}, expected floats {N,C,H,W}"}});
}

// The places of a frame's chroma, which follows its luma.
struct Layout {
  const char* name;
  bool interleaved, v_first;
  int64_t At(int64_t height, int64_t width, int64_t y, int64_t x, bool v) const {
    const int64_t second = v != v_first ? 1 : 0, after = height * width;
    if (interleaved) return after + y / 2 * width + x / 2 * 2 + second;
    return after + second * after / 4 + y / 2 * (width / 2) + x / 2;
  }
};
constexpr Layout kLayouts[] = {
    {"nv12", true, false}, {"nv21", true, true}, {"i420", false, false}, {"yv12", false, true}};

// The usual factors of Y - 16 (full: Y), and of V - 128 and U - 128 for red, green (both) and blue,
// of ITU-R BT.601 and BT.709, to six digits.
struct Coding {
  const char* parts;
  double first, luma, red, green_v, green_u, blue;
};
constexpr Coding kCodings[] = {
    {"", 16, 1.164384, 1.596027, 0.812968, 0.391762, 2.017232},
    {",bt601,limited", 16, 1.164384, 1.596027, 0.812968, 0.391762, 2.017232},
    {",bt709", 16, 1.164384, 1.792741, 0.532909, 0.213249, 2.112402},
    {",full", 0, 1, 1.402, 0.714136, 0.344136, 1.772},
    {",bt709,full", 0, 1, 1.5748, 0.468124, 0.187324, 1.8556},
};

// A colour of a pixel; 0 is red.
double ColourOf(const HostTensor& frame, const Layout& layout, const Coding& coding, int64_t height,
                int64_t width, int64_t y, int64_t x, int64_t colour) {
  const double u = frame.At(layout.At(height, width, y, x, false)) - 128;
  const double v = frame.At(layout.At(height, width, y, x, true)) - 128;
  const double chroma[] = {coding.red * v, -coding.green_v * v - coding.green_u * u,
                           coding.blue * u};
  return std::clamp(coding.luma * (frame.At(y * width + x) - coding.first) + chroma[colour], 0.0,
                    255.0);
}

// Frames of the input's size and of others.
TEST_F(PixelInputTest, FramesOfLumaAndChromaBecomeColours) {
  constexpr int64_t kHeight = 6, kWidth = 5;
  WriteNegative({1, 3, kHeight, kWidth});
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>(6, 4), {10, 12}, {2, 6}}) {
    for (const Layout& layout : kLayouts) {
      for (const Coding& coding : kCodings) {
        const bool bgr = layout.v_first;  // any
        const std::string parts =
            absl::StrCat(layout.name, coding.parts, bgr ? ",bgr" : "", ",", height, "x", width);
        SCOPED_TRACE(parts);
        const HostTensor frame = WriteFrames(1, height, width);
        const HostTensor got =
            OutputOf("run negative.ash --pixels mean:10/20.5/30,scale:0.5/0.25/0.125," + parts);
        ASSERT_EQ(got.num_elements(), 3 * kHeight * kWidth);
        for (int64_t i = 0; i < got.num_elements(); ++i) {
          const int64_t c = i / (kHeight * kWidth);
          const double value = Sampled(kHeight, height, i / kWidth % kHeight, [&](int64_t y) {
            return Sampled(kWidth, width, i % kWidth, [&](int64_t x) {
              return ColourOf(frame, layout, coding, height, width, y, x, bgr ? 2 - c : c);
            });
          });
          ASSERT_NEAR(got.At(i), (kMean[c] - value) * kScale[c], 2e-4) << i;
        }
      }
    }
  }
}

// Black, white and the primary colours, as the text of BT.709 quantises them.
TEST_F(PixelInputTest, FramesOfPrimaryColoursAreThese) {
  WriteNegative({1, 3, 2, 2});
  const struct {
    const char* parts;
    std::array<int, 3> yuv, rgb;
  } rows[] = {
      {"nv12", {16, 128, 128}, {0, 0, 0}},        {"nv12", {235, 128, 128}, {255, 255, 255}},
      {"nv12", {81, 90, 240}, {255, 0, 0}},       {"nv12", {145, 54, 34}, {0, 255, 0}},
      {"nv12", {41, 240, 110}, {0, 0, 255}},      {"nv12,bt709", {63, 102, 240}, {255, 0, 0}},
      {"nv12,bt709", {173, 42, 26}, {0, 255, 0}}, {"nv12,bt709", {32, 240, 118}, {0, 0, 255}},
      {"nv12,full", {76, 85, 255}, {255, 0, 0}},  {"nv12,full", {255, 128, 128}, {255, 255, 255}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(absl::StrCat(row.parts, " ", row.yuv[0]));
    HostTensor frame = HostTensor::Zeros(DType::kUint8, {1, 3, 2});
    for (int i = 0; i < 4; ++i) frame.Set(i, row.yuv[0]);
    frame.Set(4, row.yuv[1]);
    frame.Set(5, row.yuv[2]);
    ASSERT_TRUE(IsOk(WriteNpy(frame, Path("pixels.npy"))));
    const HostTensor got = OutputOf(absl::StrCat("run negative.ash --pixels ", row.parts));
    for (int i = 0; i < 12; ++i) EXPECT_NEAR(-got.At(i), row.rgb[static_cast<size_t>(i / 4)], 2.2);
  }
}

TEST_F(PixelInputTest, WrittenModelsTakeFramesAndAnyNumberOfThem) {
  WriteNegative({1, 3, 6, 4});
  for (const char* layout : {"nv12", "i420"}) {
    const HostTensor frames = WriteFrames(3, 6, 4);
    const std::string pixels = absl::StrCat(" --pixels x=bt709,", layout);
    const HostTensor expected = OutputOf("run negative.ash --shape x=3x3x6x4" + pixels);
    ASSERT_EQ(expected.num_elements(), 3 * 3 * 6 * 4);
    for (const char* file : {"made.ash", "made.onnx"}) {
      SCOPED_TRACE(absl::StrCat(layout, " ", file));
      ASSERT_EQ(Ashlar(absl::StrCat("convert negative.ash", pixels, " -o ", file)).exit_code, 0);
      EXPECT_TRUE(Near(OutputOf(absl::StrCat("run ", file, " --shape x=3x9x4")), expected, 1e-5));
    }
  }
}

// The floats of a frame never exist at once, and tiles compute the same.
TEST_F(PixelInputTest, FramesArePartOfThePlanAndOfItsTiles) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o net.ash -q").exit_code, 0);
  WriteFrames(1, 256, 320);
  // Planes of half rows are computed whole.
  for (const auto& [layout, less] : {std::pair("nv12", 16), {"i420", 3}}) {
    SCOPED_TRACE(layout);
    const std::string pixels = absl::StrCat(" --pixels 256x320,imagenet,", layout);
    const auto arena = [&](const std::string& options) -> int64_t {
      const ProcessResult verified = Ashlar("verify net.ash --json" + pixels + options + kQuick);
      EXPECT_EQ(verified.exit_code, 0) << verified.err;
      if (verified.exit_code != 0) return 0;
      const auto pools = verified.Json()["pools"];
      EXPECT_EQ(pools["input"]["planned_bytes"], 256 * 320 * 3 / 2);
      return pools["arena"]["planned_bytes"];
    };
    const std::string least = " --memory-budget min";
    EXPECT_LT(less * arena(least), arena(""));
    const HostTensor whole = OutputOf("run net.ash" + pixels + kQuick);
    EXPECT_TRUE(Near(OutputOf("run net.ash" + pixels + least + kQuick), whole, 1e-5));
  }
}

TEST_F(PixelInputTest, FaultsOfFramesAreNamed) {
  WriteNegative();
  ExpectEndings(
      "plan negative.ash --pixels ",
      {{"nv12", 2,
        "--pixels nv12: negative.ash: input 'x': pictures of 6x5, expected an even height and "
        "width for nv12"},
       {"nv12,7x4", 2, "input 'x': pictures of 7x4, expected an even height and width for nv12"},
       {"bt709", 2, "'bt709' without a layout: expected nv12, nv21, i420 or yv12, too"},
       {"full,rgb", 2, "'full' without a layout: expected nv12, nv21, i420 or yv12, too"},
       {"nv13", 2, "'nv13' is no part of pixels; expected a size such as 480x640"}});
  WriteNegative({1, 4, 6, 4});
  ExpectEndings("plan negative.ash --pixels ",
                {{"i420", 2, "input 'x' is Float32{1,4,6,4}, expected 3 channels for i420"}});
}

}  // namespace
}  // namespace ashlar::testing
