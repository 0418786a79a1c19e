// Picture files: accepted and refused ones.
#include "serialization/image.h"

#include <stb/stb_image_write.h>
#include <zlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/serialization/picture_files.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using ::testing::ElementsAre;
using testing::FailsWith;
using testing::ParsePicture;
using testing::Png;
using testing::PngChunkText;
using testing::Value;

std::string Ppm(int width, int height, const std::string& pixels) {
  return absl::StrCat("P6\n", width, " ", height, "\n255\n", pixels);
}

TEST(ParseImage, ReadsRowsOfPixels) {
  const Pixels pixels = Value(ParsePicture(Ppm(2, 1, "\x01\x02\x03\xf1\xf2\xf3")));
  EXPECT_EQ(pixels.size, (PictureSize{1, 2}));
  EXPECT_THAT(pixels.data, ElementsAre(1, 2, 3, 0xf1, 0xf2, 0xf3));
}

TEST(ParseImage, ReadsGreyAndComments) {
  const Pixels pixels = Value(ParsePicture("P5 # width\n#height\n 1 2\n255\n\x07\x09"));
  EXPECT_EQ(pixels.size, (PictureSize{2, 1}));
  EXPECT_THAT(pixels.data, ElementsAre(7, 7, 7, 9, 9, 9));
}

TEST(ParseImage, ReadsPngAndJpeg) {
  const std::vector<uint8_t> grey(9 * 7, 128);
  std::string png, jpeg;
  const auto append = [](void* target, void* data, int size) {
    static_cast<std::string*>(target)->append(static_cast<char*>(data), static_cast<size_t>(size));
  };
  ASSERT_TRUE(stbi_write_png_to_func(append, &png, 9, 7, 1, grey.data(), 9));
  ASSERT_TRUE(stbi_write_jpg_to_func(append, &jpeg, 9, 7, 1, grey.data(), 95));
  for (const std::string& file : {png, jpeg}) {
    const Pixels pixels = Value(ParsePicture(file));
    EXPECT_EQ(pixels.size, (PictureSize{7, 9}));
    for (const uint8_t value : pixels.data) EXPECT_NEAR(value, 128, 1);
  }
}

TEST(ParseImage, ReadsAPngInSeveralChunks) {
  // Two rows of one pixel, each after the number of its filter; the stream is split anywhere.
  const std::string rows = std::string("\0\x01\x02\x03\0\x04\x05\x06", 8);
  for (size_t cut = 0; cut <= testing::Deflated(rows).size(); ++cut) {
    const std::string stream = testing::Deflated(rows);
    const std::string file = Png({2, 1}, PngChunkText("IDAT", stream.substr(0, cut)) +
                                             PngChunkText("IDAT", stream.substr(cut)));
    EXPECT_THAT(Value(ParsePicture(file)).data, ElementsAre(1, 2, 3, 4, 5, 6)) << cut;
  }
}

TEST(ParseImage, RefusesEveryPngWithOneWrongBit) {
  const std::string rows = std::string("\0\x01\x02\x03\0\x04\x05\x06", 8);
  const std::string file = Png({2, 1}, PngChunkText("IDAT", testing::Deflated(rows)));
  ASSERT_TRUE(ParsePicture(file).ok());
  for (size_t i = 0; i < file.size() * 8; ++i) {
    std::string broken = file;
    broken[i / 8] = static_cast<char>(broken[i / 8] ^ (1 << i % 8));
    EXPECT_EQ(ParsePicture(broken).status().code(), absl::StatusCode::kInvalidArgument) << i;
  }
}

// The checksums of the chunks are right: the error is in the stream inside.
TEST(ParseImage, RefusesAPngWhoseStreamIsBroken) {
  const std::string rows = std::string("\0\x01\x02\x03\0\x04\x05\x06", 8);
  const std::string stream = testing::Deflated(rows);
  std::string wrong_sum = stream;
  wrong_sum.back() ^= 1;
  struct Case {
    const char* name;
    std::string stream;
    const char* message;
  };
  const Case cases[] = {
      {"a wrong Adler-32", wrong_sum, "cannot be decompressed"},
      {"cut off", stream.substr(0, stream.size() - 1), "cut off"},
      {"empty", "", "cut off"},
      {"no zlib stream", "hello", "cannot be decompressed"},
      {"a megabyte for two pixels", testing::Deflated(std::string(1 << 20, '\0')),
       "more than 2 x 1"},
      {"a byte less than two rows", testing::Deflated(rows.substr(1)), "broken image"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_TRUE(
        FailsWith(ParsePicture(Png({2, 1}, PngChunkText("IDAT", c.stream))).status(), c.message));
  }
}

TEST(ParseImage, RefusesBadFiles) {
  const std::string chunk = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
  const auto png = [&](const std::string& width_and_height) {
    return chunk + width_and_height + std::string("\x08\x02\0\0\0abcd", 9);
  };
  struct Case {
    const char* name;
    std::string file;
    const char* message;
  };
  const Case cases[] = {
      {"empty", "", "not a PNG"},
      {"text", "hello", "not a PNG"},
      {"GIF", "GIF89a0123456789", "not a PNG"},
      {"PNG of 16384 x 16384", png(std::string("\0\0\x40\0\0\0\x40\0", 8)), "16384 x 16384"},
      {"PNG of 65535 x 65535", png(std::string("\0\0\xff\xff\0\0\xff\xff", 8)),
       "65535 x 65535 pixels"},
      {"PNG of no size", png(std::string(8, '\0')), "0 x 0 pixels"},
      {"PNG of a wrong checksum", png(std::string("\0\0\0\1\0\0\0\1", 8)),
       "chunk IHDR at byte 8 has a wrong CRC-32"},
      {"PNG header alone", chunk, "broken PNG"},
      {"PNG without an end", Png({1, 1}, "").substr(0, 33), "without the chunk IEND"},
      {"JPEG without an image", "\xff\xd8\xff\xd9", "broken image"},
      {"PPM of 65535 x 65535", "P6\n65535 65535\n255\nabc", "65535 x 65535 pixels"},
      {"PPM without pixels", "P6\n8 8\n255\nabc", "truncated: 3 bytes of 192"},
      {"PPM of no size", "P6\n0 0\n255\n", "0 x 0 pixels"},
      {"PPM of negative size", "P6\n-5 5\n255\n", "PPM header"},
      {"PPM beyond 64 bits", "P6\n99999999999999999999 9\n255\n", "PPM header"},
      {"PPM whose size overflows", "P6\n9000000000000000000 9\n255\n", "pixels"},
      {"PPM of 16 bits", "P6\n1 1\n65535\nabcdef", "PPM header"},
      {"PPM of comments", "P6\n# and no more", "PPM header"},
      {"PPM of two bytes", "P6", "PPM header"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const absl::Status status = ParsePicture(c.file).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(FailsWith(status, c.message));
  }
}

TEST(ToPlanes, TakesChannelsInTheOrderOfTheTensor) {
  const Pixels pixels = {{1, 2}, {1, 2, 3, 0xf1, 0xf2, 0xf3}};
  const HostTensor rgb = ToPlanes(pixels, {.mean = {1, 0, 0}, .scale = {1, 2, 0.5}});
  EXPECT_EQ(rgb.shape(), Shape({1, 3, 1, 2}));
  EXPECT_THAT(rgb.data<float>(), ElementsAre(0, 240, 4, 484, 1.5, 121.5));
  const HostTensor bgr = ToPlanes(pixels, {.bgr = true, .mean = {1, 0, 0}, .scale = {1, 2, 0.5}});
  EXPECT_THAT(bgr.data<float>(), ElementsAre(2, 242, 4, 484, 0.5, 120.5));
}

}  // namespace
}  // namespace ashlar
