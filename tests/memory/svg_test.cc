#include "memory/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/planner.h"
#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Draw(const Problem& problem, const SvgOptions& options) {
  const auto result = PlanMemory(problem);
  EXPECT_TRUE(result.ok()) << result.status();
  std::ostringstream out;
  EXPECT_TRUE(WriteSvg(problem, result->plan, options, out).ok());
  return out.str();
}

size_t Count(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(SvgTest, ShowsEachBufferWithNameSizeAndLifetime) {
  const Problem problem = testing::MakeProblem({{.id = 3, .lower = 0, .upper = 2, .size = 2048},
                                                {.id = 4, .lower = 1, .upper = 5, .size = 1024},
                                                {.id = 5, .lower = 1, .upper = 5, .size = 0}});
  const std::string svg = Draw(problem, {.title = "t", .names = {}, .lower_bound = 3072});
  EXPECT_EQ(Count(svg, "<title>"), 2u);
  EXPECT_THAT(svg, HasSubstr("buffer 3&#10;2048 bytes (2 KiB)"));
  EXPECT_THAT(svg, HasSubstr("steps [1, 5)"));
  EXPECT_THAT(svg, HasSubstr("arena 3072 bytes"));
  EXPECT_THAT(svg, HasSubstr("lower bound 3072 bytes"));
  EXPECT_THAT(svg, HasSubstr("viewBox"));
}

TEST(SvgTest, EscapesNames) {
  EXPECT_EQ(EscapeXml("a<b>&\"c"), "a&lt;b&gt;&amp;&quot;c");
  EXPECT_EQ(EscapeXml("line\nbreak"), "line break");
  EXPECT_EQ(EscapeXml(std::string("nul\0", 4)), "nul\xEF\xBF\xBD");
  EXPECT_EQ(EscapeXml("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(EscapeXml("\xC3"), "\xEF\xBF\xBD");
  EXPECT_EQ(EscapeXml("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // Surrogate.
  EXPECT_EQ(EscapeXml("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // Overlong.
  const Problem problem = testing::MakeProblem({{.id = 3, .lower = 0, .upper = 2, .size = 8}});
  const std::string svg =
      Draw(problem, {.title = "<script>", .names = {"]]><script>alert(1)</script>"}});
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(SvgTest, AggregatesManyBuffers) {
  const Problem problem =
      testing::RandomProblem(1, {.buffers = 5000, .steps = 2000, .largest = 1000000});
  const std::string svg = Draw(problem, {.title = "many", .max_boxes = 1000});
  EXPECT_THAT(svg, HasSubstr("5000 buffers"));
  EXPECT_EQ(Count(svg, "<title>"), 1u);
  EXPECT_LT(svg.size(), 8u << 20);
}

TEST(SvgTest, FullArenaIsFullyShaded) {
  const Problem problem = testing::MakeProblem({{.id = 0, .lower = 0, .upper = 3, .size = 7},
                                                {.id = 1, .lower = 3, .upper = 10, .size = 7}});
  const std::string svg = Draw(problem, {.max_boxes = 1});
  // One run of full shade for each row of the raster, and nothing fainter.
  EXPECT_EQ(Count(svg, "opacity=\"1.000\""), 244u);
  EXPECT_EQ(Count(svg, "opacity="), 244u);
}

TEST(SvgTest, DrawsNothingAndHugeSteps) {
  EXPECT_THAT(Draw({}, {}), HasSubstr("</svg>"));
  const Problem problem = testing::MakeProblem(
      {{.id = 0, .lower = -(int64_t{1} << 62), .upper = int64_t{1} << 62, .size = kMaxBytes}});
  EXPECT_THAT(Draw(problem, {}), HasSubstr("</svg>"));
}

TEST(SvgTest, RejectsAPlanOfAnotherProblem) {
  std::ostringstream out;
  const Problem problem = testing::MakeProblem({{.id = 0, .lower = 0, .upper = 1, .size = 1}});
  EXPECT_FALSE(WriteSvg(problem, {}, {}, out).ok());
}

}  // namespace
}  // namespace ashlar::memory
