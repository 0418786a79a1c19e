#include "memory/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <sstream>

#include "memory/planner.h"
#include "memory/svg_raster.h"
#include "memory/svg_writer.h"
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

TEST(SvgTest, NamesWhatIsAboveTheArena) {
  const Problem both = testing::MakeProblem({{.id = 0, .lower = 0, .upper = 2, .size = 1024},
                                             {.id = 1, .lower = 0, .upper = 2, .size = 512}});
  Plan plan;
  plan.arena = 1024;
  plan.offsets = {0, 1024};
  std::ostringstream out;
  ASSERT_TRUE(WriteSvg(both, plan, {.above = 512, .above_name = "window"}, out).ok());
  EXPECT_THAT(out.str(), HasSubstr(">arena 1024 bytes"));
  EXPECT_THAT(out.str(), HasSubstr(">window 512 bytes"));
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
  EXPECT_LT(Count(svg, "<title>"), 100u);
  EXPECT_LT(svg.size(), 8u << 20);
}

// Regression: a full plan was one green area without visible buffers.
TEST(SvgTest, LargeBuffersAmongManyHaveBoxes) {
  Problem problem = testing::RandomProblem(3, {.buffers = 1200, .steps = 2000, .largest = 1000});
  problem.buffers.push_back({.id = 7777, .lower = 0, .upper = 2000, .size = 500'000});
  const std::string svg = Draw(problem, {.max_boxes = 1000});
  EXPECT_THAT(svg, HasSubstr("stroke=\"#333\"><title>buffer 7777&#10;500000 bytes"));
  EXPECT_THAT(svg, HasSubstr(">buffer 7777</text>"));
}

TEST(SvgTest, FullArenaIsFullyShaded) {
  const Problem problem = testing::MakeProblem({{.id = 0, .lower = 0, .upper = 3, .size = 7},
                                                {.id = 1, .lower = 3, .upper = 10, .size = 7}});
  const std::string svg = Draw(problem, {.max_boxes = 1});
  // One rectangle of full shade, and nothing paler.
  EXPECT_THAT(svg, HasSubstr("<path opacity=\"1.000\" d=\"M0 0h436v244h-436z\"/>"));
  EXPECT_EQ(Count(svg, "<path opacity="), 1u);
  EXPECT_THAT(svg, HasSubstr("crispEdges"));
}

// Every cell is in the rectangles of one shade, as dense as the buffers over it.
TEST(SvgTest, MergedRectanglesCoverWhatIsCovered) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    Problem problem;
    Plan plan;
    // Edges lie on cells' edges, so that each cell is full or empty.
    std::vector<bool> full(kRasterColumns * kRasterRows, false);
    for (int i = 0; i < 40; ++i) {
      const int64_t lower = random() % kRasterColumns, offset = random() % kRasterRows;
      const int64_t upper = lower + 1 + random() % (kRasterColumns - lower);
      const int64_t size = 1 + random() % (kRasterRows - offset);
      problem.buffers.push_back({.id = i, .lower = lower, .upper = upper, .size = size});
      plan.offsets.push_back(offset);
      for (int64_t r = offset; r < offset + size; ++r) {
        for (int64_t c = lower; c < upper; ++c) full[r * kRasterColumns + c] = true;
      }
    }
    const std::string paths = RasterPaths(problem, plan, {0, kRasterColumns, kRasterRows});
    std::vector<bool> drawn(full.size(), false);
    for (size_t at = paths.find('M'); at != paths.npos; at = paths.find('M', at + 1)) {
      int column = 0, row = 0, width = 0, height = 0;
      ASSERT_EQ(std::sscanf(&paths[at], "M%d %dh%dv%d", &column, &row, &width, &height), 4);
      for (int r = row; r < row + height; ++r) {
        for (int c = column; c < column + width; ++c) {
          EXPECT_FALSE(drawn[r * kRasterColumns + c]) << "drawn twice";
          drawn[r * kRasterColumns + c] = true;
        }
      }
    }
    EXPECT_TRUE(drawn == full);
    EXPECT_EQ(Count(paths, "opacity=\"1.000\""), 1u);
  }
}

TEST(SvgTest, HasALegend) {
  const Problem problem = testing::MakeProblem({{.id = 0, .lower = 0, .upper = 9, .size = 700},
                                                {.id = 1, .lower = 2, .upper = 3, .size = 300}});
  const std::string tensors = Draw(problem, {});
  EXPECT_THAT(tensors, HasSubstr("tensors: all of the arena"));
  EXPECT_THAT(tensors, Not(HasSubstr(">workspace<")));
  const std::string both = Draw(problem, {.workspaces = {false, true}});
  EXPECT_THAT(both, HasSubstr(">workspace<"));
  EXPECT_EQ(Count(both, "fill=\"url(#workspace)\""), 2u);  // in the buffer and the legend
  EXPECT_THAT(Draw(problem, {.max_boxes = 1}), HasSubstr("2 buffers, large ones by size; empty"));
}

TEST(SvgTest, NamesStandWhereThereIsRoom) {
  const Problem problem = testing::MakeProblem({{.id = 0, .lower = 0, .upper = 900, .size = 700},
                                                {.id = 1, .lower = 0, .upper = 9, .size = 300},
                                                {.id = 2, .lower = 9, .upper = 11, .size = 1}});
  const std::string svg = Draw(problem, {.names = {"lies", "stands", "neither"}});
  EXPECT_THAT(svg, HasSubstr(">lies</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">neither</text>")));
  const std::string small = Draw(problem, {.names = {std::string(300, 'x') + "end", "b", "c"}});
  EXPECT_THAT(small, HasSubstr("xend</text>"));
  EXPECT_THAT(small, HasSubstr("\xE2\x80\xA6xx"));
}

// Two buffers that share bytes in turn: each step is drawn once.
TEST(SvgTest, HeirsBeginWhereTheirBoxesBegin) {
  const Problem problem = testing::MakeProblem({{.id = 0, .lower = 0, .upper = 5, .size = 64},
                                                {.id = 1, .lower = 4, .upper = 10, .size = 64}},
                                               {{.inner = 1, .outer = 0}});
  const std::string svg = Draw(problem, {});
  EXPECT_THAT(svg, HasSubstr("x=\"90.00\" y=\"50.00\" width=\"436.00\""));
  EXPECT_THAT(svg, HasSubstr("x=\"526.00\" y=\"50.00\" width=\"654.00\""));
  EXPECT_THAT(svg, HasSubstr("steps [0, 5)"));
}

TEST(SvgTest, TheLastTickIsNotCut) {
  const Problem problem =
      testing::MakeProblem({{.id = 0, .lower = 0, .upper = 1'000'000'000, .size = 64}});
  EXPECT_THAT(Draw(problem, {}), HasSubstr("text-anchor=\"end\" stroke=\"none\">1000000000<"));
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
