// Pictures as inputs of the command: sizes, colours, files and pipes.
#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "serialization/image.h"
#include "serialization/npy.h"
#include "serialization/resample.h"
#include "tests/support/command/command_process.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kOne[] = "run model.ash --shape data=1x3x16x16 ";
constexpr float kMean[] = {123.675f, 116.28f, 103.53f}, kSpread[] = {58.395f, 57.12f, 57.375f};

class PicturesTest : public CommandTest {
 protected:
  // Returns the pixels of "photo.ppm", 20 x 30.
  static Pixels Photo() {
    Pixels pixels = Pixels::Zeros({20, 30});
    for (size_t i = 0; i < pixels.data.size(); ++i) {
      pixels.data[i] = static_cast<uint8_t>(i * i / 7 + 3 * i);
    }
    Write("photo.ppm",
          absl::StrCat("P6\n30 20\n255\n", std::string(pixels.data.begin(), pixels.data.end())));
    return pixels;
  }

  // Returns the pixels from (top, left) on that fill the input, normalised like ImageNet's.
  static HostTensor InputOf(const Pixels& pixels, int64_t top, int64_t left, bool bgr = false) {
    HostTensor input = HostTensor::Zeros(DType::kFloat32, {1, 3, 16, 16});
    for (int64_t i = 0; i < input.num_elements(); ++i) {
      const int64_t c = bgr ? 2 - i / 256 : i / 256;
      const uint8_t value = pixels.at(top + i / 16 % 16, left + i % 16)[c];
      input.mutable_data<float>()[i] = (static_cast<float>(value) - kMean[c]) / kSpread[c];
    }
    return input;
  }

  // Returns the classes for an input.
  static json Scores(const std::string& options) {
    const ProcessResult result = Ashlar(kOne + options + " --json");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.exit_code == 0 ? result.Json()["outputs"][0]["top"] : json();
  }
  static json ScoresOf(const HostTensor& input) {
    EXPECT_TRUE(IsOk(WriteNpy(input, Path("expected.npy"))));
    return Scores("--input expected.npy");
  }
  // Expects equal scores, except for the rounding of (x - mean) / spread.
  static void ExpectEqual(const json& got, const json& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].size(), want[i].size());
      for (size_t k = 0; k < got[i].size(); ++k) {
        EXPECT_EQ(got[i][k]["class"], want[i][k]["class"]);
        EXPECT_NEAR(got[i][k]["value"].get<double>(), want[i][k]["value"].get<double>(), 1e-6);
      }
    }
  }
};

TEST_F(PicturesTest, AreResizedAndCroppedAsAsked) {
  const Pixels photo = Photo();
  ExpectEqual(Scores("--input photo.ppm --crop 16"), ScoresOf(InputOf(photo, 2, 7)));
  ExpectEqual(Scores("--input photo.ppm --resize 18 --crop 16"),
              ScoresOf(InputOf(Value(Resample(photo, {18, 27})), 1, 6)));
  ExpectEqual(Scores("--input photo.ppm --resize 18x17 --crop 16"),
              ScoresOf(InputOf(Value(Resample(photo, {18, 17})), 1, 0)));
  ExpectEqual(Scores("--input photo.ppm --resize stretch"),
              ScoresOf(InputOf(Value(Resample(photo, {16, 16})), 0, 0)));
  Pixels boxed = Pixels::Zeros({16, 16});
  std::fill(boxed.data.begin(), boxed.data.end(), 9);
  const Pixels inner = Value(Resample(photo, {11, 16}));
  std::copy(inner.data.begin(), inner.data.end(), boxed.at(2, 0));
  ExpectEqual(Scores("--input photo.ppm --letterbox --fill 9"), ScoresOf(InputOf(boxed, 0, 0)));
}

TEST_F(PicturesTest, ThatLoseTheirProportionsAreNamed) {
  Photo();
  Write("square.ppm", absl::StrCat("P6\n2 2\n255\n", std::string(12, 'x')));
  EXPECT_THAT(Ashlar(absl::StrCat(kOne, "--input photo.ppm")).err,
              HasSubstr("photo.ppm of 20 x 30 pixels is stretched to 16 x 16; --resize"));
  for (const char* options : {"photo.ppm --resize stretch", "photo.ppm --crop 16",
                              "photo.ppm --letterbox", "square.ppm", "photo.ppm --quiet"}) {
    EXPECT_EQ(Ashlar(absl::StrCat(kOne, "--input ", options)).err, "") << options;
  }
}

TEST_F(PicturesTest, ChannelsComeInTheOrderAskedFor) {
  const Pixels photo = Photo();
  ExpectEqual(Scores("--input photo.ppm --crop 16 --color bgr"),
              ScoresOf(InputOf(photo, 2, 7, /*bgr=*/true)));
  // Means are in the order of the input's channels.
  EXPECT_EQ(
      Scores("--input photo.ppm --crop 16 --color bgr --mean 103.53,116.28,123.675"),
      Scores("--input photo.ppm --crop 16 --color bgr --mean 103.53,116.28,123.675 --scale 1"));
}

TEST_F(PicturesTest, ArraysOfOneImageAndOfPixelsAreTaken) {
  const Pixels photo = Photo();
  const HostTensor input = InputOf(photo, 0, 0);
  const json want = ScoresOf(input);
  ASSERT_TRUE(IsOk(WriteNpy(input.Reshaped({3, 16, 16}), Path("chw.npy"))));
  ExpectEqual(Scores("--input chw.npy"), want);
  HostTensor hwc = HostTensor::Zeros(DType::kFloat32, {16, 16, 3});
  for (int64_t i = 0; i < hwc.num_elements(); ++i) hwc.Set(i, input.At(i % 3 * 256 + i / 3));
  ASSERT_TRUE(IsOk(WriteNpy(hwc, Path("hwc.npy"))));
  ExpectEqual(Scores("--input hwc.npy --layout nhwc"), want);
  EXPECT_EQ(Ashlar(absl::StrCat(kOne, "--input hwc.npy")).exit_code, 6);

  // Bytes in the shape of a picture are a picture, in either layout.
  const HostTensor bytes = HostTensor::FromValues<uint8_t>(DType::kUint8, {20, 30, 3}, photo.data);
  ASSERT_TRUE(IsOk(WriteNpy(bytes, Path("bytes.npy"))));
  for (const char* options : {" --crop 16", " --letterbox --color bgr", " --crop 16 --mean 5"}) {
    const json picture = Scores(absl::StrCat("--input photo.ppm", options));
    EXPECT_EQ(Scores(absl::StrCat("--input bytes.npy", options)), picture);
    EXPECT_EQ(Scores(absl::StrCat("--input bytes.npy --layout nhwc", options)), picture);
  }
  EXPECT_THAT(Ashlar(absl::StrCat(kOne, "--input bytes.npy")).err,
              HasSubstr("bytes.npy holds Uint8{20,30,3}: the pixels of a picture"));
}

TEST_F(PicturesTest, InputsArePiped) {
  const Pixels photo = Photo();
  ASSERT_TRUE(IsOk(WriteNpy(InputOf(photo, 0, 0), Path("one.npy"))));
  const HostTensor input = InputOf(photo, 0, 0);
  Write("one.raw", std::string(static_cast<const char*>(input.raw()), input.bytes()));
  const json picture = Scores("--input photo.ppm --crop 16");
  const json array = Scores("--input one.npy");
  EXPECT_EQ(Scores("--crop 16 --input data=- < photo.ppm"), picture);
  EXPECT_EQ(Scores("--crop 16 --input /dev/stdin < photo.ppm"), picture);
  EXPECT_EQ(Scores("--input data=- < one.npy"), array);
  EXPECT_EQ(Scores("--input data=- < one.raw"), array);
  const ProcessResult twice = Ashlar("run model.ash --input data=- --input data=- < one.npy");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.err, HasSubstr("only once"));
  const ProcessResult empty = Ashlar(absl::StrCat(kOne, "--input data=-"));
  EXPECT_EQ(empty.exit_code, 6);
  EXPECT_THAT(empty.err, HasSubstr("standard input: 0 bytes, expected 3072"));
}

// Regression: the error named types of tensors, but no remedy.
TEST_F(PicturesTest, MoreThanTheBatchAreRefusedWithTheShapeThatHoldsThem) {
  Photo();
  const std::string two = "--input photo.ppm --input photo.ppm --crop 16";
  ExpectEndings(kOne, {{two, 6, "2 for a batch of 1; --shape data=2x3x16x16 makes it 2"}});
  EXPECT_EQ(Ashlar("run model.ash --shape data=2x3x16x16 " + two).exit_code, 0);
}

TEST_F(PicturesTest, WhatCannotBeIsRefused) {
  Photo();
  // One black pixel; a bit of the checksum of its pixels is wrong.
  Write("broken.png",
        std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\x02\0\0\0\x90\x77\x53\xde"
                    "\0\0\0\x0cIDAT\x78\x9c\x63\x60\x60\x60\0\0\0\4\0\1\xf6\x17\x38\x54"
                    "\0\0\0\0IEND\xae\x42\x60\x82",
                    69));
  ExpectEndings(kOne,
                {{"--input broken.png", 6, "broken.png: broken PNG: the chunk IDAT at byte 33"},
                 {"--input photo.ppm --crop 15", 6,
                  "photo.ppm: the picture is 15 x 15 pixels then, and the input 16 x 16"},
                 {"--input photo.ppm --resize 16", 6, "16 x 24 pixels then"},
                 {"--input photo.ppm --resize 10 --crop 16", 6, "too small to cut 16 x 16"},
                 {"--input photo.ppm --mean 1,2", 2, "--mean"},
                 {"--input photo.ppm --resize 0", 2, "--resize"},
                 {"--input photo.ppm --resize half", 2, "expected stretch or pixels"},
                 {"--input photo.ppm --crop 1x2x3", 2, "--crop"},
                 {"--input photo.ppm --crop 100000000", 2, "--crop"},
                 {"--input photo.ppm --letterbox --crop 16", 2, "--crop"},
                 {"--input photo.ppm --letterbox --resize 16", 2, "--resize"},
                 {"--input photo.ppm --fill 3", 2, "--letterbox"},
                 {"--input photo.ppm --letterbox --fill 256", 2, "--fill"},
                 {"--input photo.ppm --color grb", 2, "rgb or bgr"}});
  EXPECT_THAT(Ashlar(absl::StrCat(kOne, "--color bgr")).err, HasSubstr("--color has no effect"));
}

// The classes that the model's authors publish and other runtimes find.
TEST_F(PicturesTest, SqueezeNetSeesAFish) {
  const std::string folder = "data/onnx/real/squeezenet_fp16";
  if (!HasSharedData(folder)) GTEST_SKIP() << "no ../shared/data/onnx/real";
  struct Case {
    const char* picture;
    const char* options;
    const char* label;
    double score;
  };
  const Case cases[] = {
      {"fish.png", "", "n01440764 tench, Tinca tinca", 0.7378},
      {"kitten_224.png", "", "n02123045 tabby, tabby cat", 0.931},
      {"goldfish_input.png", "", "n01443537 goldfish, Carassius auratus", 0.9956},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.picture);
    const std::string path = SharedData(folder);
    const ProcessResult result = Ashlar(
        absl::StrCat("run '", path, "/model.onnx' --input '", path, "/", c.picture, "' --labels '",
                     path, "/synset.txt' --color bgr --mean 0 --top 1 --json ", c.options));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json best = result.Json()["outputs"][0]["top"][0][0];
    EXPECT_EQ(best["label"], c.label);
    EXPECT_NEAR(best["value"].get<double>(), c.score, 1e-3);
  }
}

}  // namespace
}  // namespace ashlar::testing
