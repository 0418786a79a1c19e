// Unsuitable labels, pictures, tiles and memory: messages and exit codes.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "tests/support/command/command_process.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using RefusedInputsTest = CommandTest;

// Regression: they were accepted, and no label or a wrong one was shown.
TEST_F(RefusedInputsTest, LabelsThatDoNotFit) {
  Write("nine.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\n");
  Write("empty.txt", "\n\n");
  Write("picture.png", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16));
  ExpectEndings(
      "run model.ash ",
      {{"--labels nine.txt", 6,
        "nine.txt: 9 labels, and no output has so many classes; the outputs are prob {2,10}"},
       {"--labels empty.txt", 6, "empty.txt: no labels"},
       {"--labels picture.png", 6, "picture.png: no text"}});
  Write("ten.txt",
        "\xEF\xBB\xBF"
        "zero\r\na\nb\nc\nd\ne\nf\ng\nh\ni\n\n");
  const ProcessResult result = Ashlar("run model.ash --top 10 --labels ten.txt --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json document = result.Json();
  for (const nlohmann::json& entry : document["outputs"][0]["top"][0]) {
    if (entry["class"] == 0) {
      EXPECT_EQ(entry["label"], "zero");
    }
  }
}

// Regression: they were read as the bytes of a tensor.
TEST_F(RefusedInputsTest, UnknownKindsOfPictures) {
  for (const char* file : {"a.bmp", "b.webp", "c.tif", "d.GIF", "e.pgm"}) {
    Write(file, std::string(2 * 3 * 16 * 16 * 4, 'x'));  // the size of the input
    ExpectEndings("run model.ash --input ", {{file, 6, "unknown kind of picture; expected .png"}});
  }
}

// Regression: semantic errors ended with exit code 1, syntax errors with 2.
TEST_F(RefusedInputsTest, TilesThatTheModelDoesNotHave) {
  for (const std::string tiles :
       {"0-93:rows2", "0-1:rows1000", "9999-10000:batch2", "0-1:rows", "0-1:inputgrid2"}) {
    for (const char* command : {"plan", "run", "verify", "bench", "tune"}) {
      ExpectEndings(absl::StrCat(command, " model.ash --tile "), {{tiles, 2, "tile"}});
    }
  }
  EXPECT_THAT(Ashlar("plan -h").out, HasSubstr("inputgridNxM"));
}

// Regression: an ONNX file was reported as damaged.
TEST_F(RefusedInputsTest, ShapesThatDoNotSuitAnOnnxModel) {
  ASSERT_EQ(Ashlar("convert model.ash -o shaped.onnx").exit_code, 0);
  for (const char* command : {"plan", "run", "verify"}) {
    ExpectEndings(absl::StrCat(command, " shaped.onnx --shape data="),
                  {{"2x4x16x16", 2, "with the shapes given: "},
                   {"2x3x16", 2, "with the shapes given: "},
                   {"2x3x1x1", 2, "with the shapes given: "}});
  }
  Write("damaged.onnx", Read("shaped.onnx").substr(0, 3000));
  ExpectEndings("run damaged.onnx --shape data=", {{"2x4x16x16", 6, "damaged.onnx"}});
  EXPECT_EQ(Ashlar("run shaped.onnx --shape data=2x3x16x16").exit_code, 0);
}

// Regression: mapping the file ended with exit code 6, packing with a message without a number.
TEST_F(RefusedInputsTest, MemoryThatDoesNotSuffice) {
  if (kSanitized) GTEST_SKIP() << "sanitizers need more addresses than there is memory";
  ASSERT_EQ(Ashlar("zoo resnet18 -o r18.ash -q").exit_code, 0);
  int refused = 0;
  for (int64_t mebibytes = 60; mebibytes <= 300; mebibytes += 15) {
    const ProcessResult result =
        AshlarWithin(mebibytes << 20, "run r18.ash --threads 1 --no-autotune");
    // The system's loader, or a library's start, may need more than the limit.
    if (result.exit_code != 3) continue;
    ++refused;
    EXPECT_THAT(result.err, HasSubstr(absl::StrCat("ulimit -v allows ", mebibytes << 20)));
    EXPECT_THAT(result.err, ::testing::AnyOf(HasSubstr(" bytes of memory are not to be had"),
                                             HasSubstr(" bytes of addresses to be loaded and run"),
                                             HasSubstr("the host's memory does not suffice")));
    EXPECT_THAT(result.err, HasSubstr("--prefer memory"));
  }
  EXPECT_GT(refused, 2);
}

}  // namespace
}  // namespace ashlar::testing
