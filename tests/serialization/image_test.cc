#include "serialization/image.h"

#include <stb/stb_image_write.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/serialization/files.h"

namespace ashlar {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;
using testing::WriteWholeFile;

std::string Ppm(int width, int height, const std::string& pixels) {
  return absl::StrCat("P6\n", width, " ", height, "\n255\n", pixels);
}

TEST(ReadImage, TurnsPixelsIntoPlanes) {
  TempDir dir;
  WriteWholeFile(dir / "x.ppm", Ppm(2, 1, "\x01\x02\x03\xf1\xf2\xf3"));
  const auto tensor = ReadImage(dir / "x.ppm", {.mean = {1, 0, 0}, .scale = {1, 2, 0.5}});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->shape(), Shape({1, 3, 1, 2}));
  EXPECT_THAT(tensor->data<float>(), ::testing::ElementsAre(0, 240, 4, 484, 1.5, 121.5));
}

TEST(ReadImage, ReadsGreyAndComments) {
  TempDir dir;
  WriteWholeFile(dir / "x.ppm", "P5 # width\n#height\n 1 2\n255\n\x07\x09");
  const auto tensor = ReadImage(dir / "x.ppm", {});
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_THAT(tensor->data<float>(), ::testing::ElementsAre(7, 9, 7, 9, 7, 9));
}

TEST(ReadImage, ReadsPngAndJpeg) {
  TempDir dir;
  std::vector<uint8_t> grey(9 * 7, 128);
  ASSERT_TRUE(stbi_write_png((dir / "x.png").c_str(), 9, 7, 1, grey.data(), 9));
  ASSERT_TRUE(stbi_write_jpg((dir / "x.jpg").c_str(), 9, 7, 1, grey.data(), 95));
  for (const char* name : {"x.png", "x.jpg"}) {
    const auto tensor = ReadImage(dir / name, {});
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->shape(), Shape({1, 3, 7, 9}));
    for (float value : tensor->data<float>()) EXPECT_NEAR(value, 128, 1);
  }
}

TEST(ReadImage, ResizesBilinearly) {
  TempDir dir;
  WriteWholeFile(dir / "x.ppm", Ppm(2, 1, std::string("\0\0\0\xc8\xc8\xc8", 6)));
  const auto wide = ReadImage(dir / "x.ppm", {.height = 1, .width = 4});
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_THAT(wide->data<float>().first(4), ::testing::ElementsAre(0, 50, 150, 200));
  const auto one = ReadImage(dir / "x.ppm", {.height = 1, .width = 1});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->At(0), 100);
}

TEST(ReadImage, RefusesBadFiles) {
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
      {"PNG header alone", chunk, "broken image"},
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
  TempDir dir;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    WriteWholeFile(dir / "x.png", c.file);
    const absl::Status status = ReadImage(dir / "x.png", {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(ReadImage, RefusesAnAbsurdSizeToStretchTo) {
  TempDir dir;
  WriteWholeFile(dir / "x.ppm", Ppm(2, 1, "abcdef"));
  EXPECT_FALSE(ReadImage(dir / "x.ppm", {.height = 1 << 20, .width = 1 << 20}).ok());
}

}  // namespace
}  // namespace ashlar
