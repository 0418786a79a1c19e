// Orientations of photographs.
#include "serialization/exif.h"

#include <stb/stb_image_write.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/serialization/picture_files.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::ParsePicture;
using testing::Value;

// Returns a block of tags that has one entry besides the orientation.
std::string Tags(int orientation, bool little) {
  const auto number = [&](uint32_t value, size_t bytes) {
    std::string text = testing::Number(value).substr(4 - bytes);
    if (little) std::reverse(text.begin(), text.end());
    return text;
  };
  const std::string other =
      number(271, 2) + number(2, 2) + number(4, 4) + "abc" + std::string(1, 0);
  const std::string own =
      number(274, 2) + number(3, 2) + number(1, 4) + number(orientation, 2) + std::string(2, 0);
  return (little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(2, 2) + other + own +
         number(0, 4);
}

// The stored picture and the one to show: an F, upright in the first case (as in the test pictures
// of cameras).
struct Case {
  int orientation;
  std::array<const char*, 5> stored;  // rows; unused ones are empty
};
constexpr std::array<const char*, 5> kSeen = {"###", "#..", "##.", "#..", "#.."};
constexpr Case kCases[] = {
    {1, {"###", "#..", "##.", "#..", "#.."}}, {2, {"###", "..#", ".##", "..#", "..#"}},
    {3, {"..#", "..#", ".##", "..#", "###"}}, {4, {"#..", "#..", "##.", "#..", "###"}},
    {5, {"#####", "#.#..", "#....", "", ""}}, {6, {"#....", "#.#..", "#####", "", ""}},
    {7, {"....#", "..#.#", "#####", "", ""}}, {8, {"#####", "..#.#", "....#", "", ""}},
};

// Returns a picture in which each letter is a square of `side` pixels, black or white.
Pixels Drawn(const std::array<const char*, 5>& rows, int64_t side) {
  int64_t height = 0;
  for (const char* row : rows) height += *row == 0 ? 0 : side;
  Pixels pixels = Pixels::Zeros({height, static_cast<int64_t>(strlen(rows[0])) * side});
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < pixels.size.width; ++x) {
      std::fill_n(pixels.at(y, x), 3, rows[y / side][x / side] == '#' ? 0 : 255);
    }
  }
  return pixels;
}

std::string PngOf(const Pixels& pixels, const std::string& chunks) {
  std::string rows;
  for (int64_t y = 0; y < pixels.size.height; ++y) {
    const size_t bytes = static_cast<size_t>(pixels.size.width) * 3;
    rows += '\0' + std::string(reinterpret_cast<const char*>(pixels.at(y, 0)), bytes);
  }
  return testing::Png(pixels.size, chunks + testing::PngChunkText("IDAT", testing::Deflated(rows)));
}

std::string JpegOf(const Pixels& pixels, const std::string& segments) {
  std::string jpeg;
  const auto append = [](void* target, void* data, int size) {
    static_cast<std::string*>(target)->append(static_cast<char*>(data), static_cast<size_t>(size));
  };
  EXPECT_TRUE(stbi_write_jpg_to_func(append, &jpeg, static_cast<int>(pixels.size.width),
                                     static_cast<int>(pixels.size.height), 3, pixels.data.data(),
                                     100));
  return jpeg.substr(0, 2) + segments + jpeg.substr(2);
}

std::string Segment(const std::string& data) {
  return "\xff\xe1" + testing::Number(data.size() + 2).substr(2) + data;
}

TEST(Exif, PicturesAreTurnedUpright) {
  const std::string exif("Exif\0\0", 6);
  for (const Case& c : kCases) {
    for (const bool little : {false, true}) {
      SCOPED_TRACE(absl::StrCat(c.orientation, little ? " little" : " big"));
      const std::string tags = Tags(c.orientation, little);
      EXPECT_EQ(
          Value(ParsePicture(PngOf(Drawn(c.stored, 1), testing::PngChunkText("eXIf", tags)))).data,
          Drawn(kSeen, 1).data);
      // Squares of eight pixels, so that compression loses little. Another segment comes first.
      const Pixels seen = Drawn(kSeen, 8);
      const Pixels got = Value(
          ParsePicture(JpegOf(Drawn(c.stored, 8), Segment("http://x") + Segment(exif + tags))));
      ASSERT_EQ(got.size, seen.size);
      for (size_t i = 0; i < seen.data.size(); ++i) ASSERT_NEAR(got.data[i], seen.data[i], 8) << i;
    }
  }
}

TEST(Exif, TagsThatCannotBeReadAreNone) {
  const std::string good = Tags(6, true);
  ASSERT_EQ(OrientationOf("\xff\xd8" + Segment(std::string("Exif\0\0", 6) + good)),
            Orientation::kRightTop);
  // After the entry comes the offset of the next directory, four bytes that nobody reads.
  for (size_t length = 0; length + 4 < good.size(); ++length) {
    const std::string tags = std::string("Exif\0\0", 6) + good.substr(0, length);
    EXPECT_EQ(OrientationOf("\xff\xd8" + Segment(tags)), Orientation::kTopLeft) << length;
  }
  for (const int orientation : {0, 9, 65535}) {
    const std::string tags = std::string("Exif\0\0", 6) + Tags(orientation, false);
    EXPECT_EQ(OrientationOf("\xff\xd8" + Segment(tags)), Orientation::kTopLeft) << orientation;
  }
  for (const std::string file : {"", "\xff", "\xff\xd8", "\xff\xd8\xff\xe1", "\xff\xd8\xff\xff\xff",
                                 "\xff\xd8\xff\xe1\xff\xff", "\xff\xd8 text"}) {
    EXPECT_EQ(OrientationOf(file), Orientation::kTopLeft);
  }
}

}  // namespace
}  // namespace ashlar
