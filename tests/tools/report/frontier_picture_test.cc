// The picture of a frontier.
#include "tools/report/frontier_picture.h"

#include <gmock/gmock.h>

#include <string>

namespace ashlar {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

FrontierPoint PointOf(const char* tiles, int64_t arena_bytes, double ms) {
  FrontierPoint point;
  point.choice = tiles;
  point.arena_bytes = arena_bytes;
  point.measured_ms = ms;
  return point;
}

// Regression: the line was a zigzag through all points.
TEST(FrontierPictureTest, OnlyPointsThatNoOtherBeats) {
  const std::vector<FrontierPoint> points = {
      PointOf("", 900, 10),           PointOf("0-1:rows2", 800, 12), PointOf("0-1:rows3", 700, 11),
      PointOf("0-1:rows4", 600, 11),  PointOf("0-1:rows5", 500, 14), PointOf("0-1:rows6", 500, 13),
      PointOf("0-1:lines7", 400, 15),
  };
  EXPECT_THAT(ParetoPoints(points), ElementsAre(0, 3, 5, 6));
  EXPECT_THAT(ParetoPoints({}), ElementsAre());
  const std::string svg = FrontierSvg("a<b", points);
  EXPECT_THAT(svg, HasSubstr(">a&lt;b</text>"));
  EXPECT_THAT(svg, HasSubstr(">0-1:rows4</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("0-1:rows2")));
  EXPECT_THAT(svg, Not(HasSubstr("fill=\"white\"><title>")));
  EXPECT_THAT(svg, HasSubstr(">512 B</text>"));  // the unit of the table
}

TEST(FrontierPictureTest, TheModelWithoutTilesIsShownInAnyCase) {
  const std::string svg =
      FrontierSvg("", {PointOf("", 3 << 20, 10), PointOf("0-1:batch2", 2 << 20, 9)});
  EXPECT_THAT(svg, HasSubstr("fill=\"white\"><title>not tiled&#10;3145728 bytes, 10.00 ms"));
  EXPECT_THAT(svg, HasSubstr("fill=\"#2a6fb0\"><title>0-1:batch2&#10;2097152 bytes, 9.00 ms"));
  EXPECT_THAT(svg, HasSubstr(">4 MiB</text>"));
}

// A point that is slower than others in as few bytes, but does fewer operations, is off the line.
TEST(FrontierPictureTest, PointsThatDoFewerOperationsAreShown) {
  std::vector<FrontierPoint> points = {PointOf("", 900, 10), PointOf("0-1:lines2", 700, 15),
                                       PointOf("0-1:rows2", 600, 12)};
  points[2].extra_flops_ratio = 0.125;
  const std::string svg = FrontierSvg("", points);
  EXPECT_THAT(svg, HasSubstr("fill=\"white\"><title>0-1:lines2"));
  EXPECT_THAT(svg, HasSubstr(">12.5 %</text>"));
  points[1].extra_flops_ratio = 0.125;
  EXPECT_THAT(FrontierSvg("", points), Not(HasSubstr("0-1:lines2")));
}

}  // namespace
}  // namespace ashlar
