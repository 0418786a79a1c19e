// Paths of random options, compared with all paths there are.
#include "runtime/plan/tiling/tiling_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace ashlar {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Options between up to six cuts, by their ends; several between the same two.
struct RandomWays {
  explicit RandomWays(std::mt19937_64& random) {
    const auto below = [&](int count) { return static_cast<int>(random() % count); };
    last = 1 + static_cast<size_t>(below(5));
    for (size_t begin = 0; begin < last; ++begin) {
      for (size_t end = begin + 1; end <= last; ++end) {
        for (int i = below(3); i > 0; --i) {
          TilingWay way;
          way.begin = begin;
          way.end = end;
          way.bytes = 100 * (1 + below(8));
          way.ms = 1 + below(20);
          way.extra_flops = 0.25 * below(4);
          ways.push_back(way);
        }
      }
    }
  }

  std::vector<const TilingWay*> pointers() const {
    std::vector<const TilingWay*> all;
    for (const TilingWay& way : ways) all.push_back(&way);
    return all;
  }
  TilingPaths Paths(double max_extra_flops = kNoLimit) const {
    return TilingPaths(0, last, pointers(), max_extra_flops);
  }
  // Returns every path from the first cut to the last.
  std::vector<TilingPath> All() const {
    std::vector<TilingPath> found;
    TilingPath path;
    Extend(0, path, found);
    return found;
  }

  size_t last = 0;
  std::vector<TilingWay> ways;

 private:
  void Extend(size_t cut, TilingPath& path, std::vector<TilingPath>& found) const {
    if (cut == last) found.push_back(path);
    for (const TilingWay& way : ways) {
      if (way.begin != cut) continue;
      path.push_back(&way);
      Extend(way.end, path, found);
      path.pop_back();
    }
  }
};

double Milliseconds(const TilingPath& path) {
  double ms = 0;
  for (const TilingWay* way : path) ms += way->ms;
  return ms;
}

double ExtraFlops(const TilingPath& path) {
  double flops = 0;
  for (const TilingWay* way : path) flops += way->extra_flops;
  return flops;
}

int64_t LargestStep(const TilingPath& path) {
  int64_t bytes = 0;
  for (const TilingWay* way : path) bytes = std::max(bytes, way->bytes);
  return bytes;
}

TEST(TilingPathsTest, TheSmallestAndTheFastestAreThoseOfAllPaths) {
  int empty = 0, several = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const RandomWays problem(random);
    const std::vector<TilingPath> all = problem.All();
    const TilingPath smallest = problem.Paths().Smallest();
    const std::vector<TilingPath> fastest = problem.Paths().Fastest();
    ASSERT_EQ(smallest.empty(), all.empty());
    ASSERT_EQ(fastest.empty(), all.empty());
    empty += all.empty();
    several += fastest.size() > 1;
    if (all.empty()) continue;
    const TilingPath& least =
        *std::min_element(all.begin(), all.end(), [](const TilingPath& a, const TilingPath& b) {
          return std::pair(LargestStep(a), Milliseconds(a)) <
                 std::pair(LargestStep(b), Milliseconds(b));
        });
    EXPECT_EQ(PeakOf(smallest), LargestStep(least));
    EXPECT_EQ(Milliseconds(smallest), Milliseconds(least));
    EXPECT_EQ(PeakOf(fastest.front()), PeakOf(smallest));
    for (size_t i = 1; i < fastest.size(); ++i) {
      EXPECT_LE(Milliseconds(fastest[i]), Milliseconds(fastest[i - 1])) << "with more memory";
    }
    for (const TilingPath& path : all) {
      const bool matched = std::any_of(fastest.begin(), fastest.end(), [&](const TilingPath& f) {
        return LargestStep(f) <= LargestStep(path) && Milliseconds(f) <= Milliseconds(path);
      });
      EXPECT_TRUE(matched) << LargestStep(path) << " bytes in " << Milliseconds(path) << " ms";
    }
  }
  EXPECT_GT(empty, 10);
  EXPECT_GT(several, 50);
}

TEST(TilingPathsTest, NoPathRecomputesMoreThanTheLimit) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    const RandomWays problem(random);
    for (const double most : {0.0, 0.25, 0.5}) {
      const TilingPaths paths = problem.Paths(most);
      std::vector<TilingPath> found = paths.Fastest();
      found.push_back(paths.Smallest());
      for (const TilingPath& path : found) EXPECT_LE(ExtraFlops(path), most) << "seed " << seed;
    }
  }
}

TEST(TilingPathsTest, RoomyPathsStayWithinThePeakAndHaveTheFewestStepsNearIt) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const RandomWays problem(random);
    const int64_t peak = PeakOf(problem.Paths().Smallest());
    const auto near = [&](const TilingPath& path) {
      return std::count_if(path.begin(), path.end(),
                           [&](const TilingWay* way) { return way->bytes == peak; });
    };
    std::vector<TilingPath> within;
    for (TilingPath& path : problem.All()) {
      if (LargestStep(path) <= peak) within.push_back(std::move(path));
    }
    const std::vector<TilingPath> roomy = problem.Paths().Roomy(peak, /*slowest=*/1e6);
    for (const TilingPath& path : roomy) {
      EXPECT_EQ(path.empty(), within.empty());
      EXPECT_LE(LargestStep(path), peak);
    }
    for (const TilingPath& path : within) {
      EXPECT_LE(near(roomy.front()), near(path)) << "bytes are multiples of 100, so 95 % is all";
      EXPECT_LE(ExtraFlops(roomy.back()), ExtraFlops(path));
    }
  }
}

}  // namespace
}  // namespace ashlar
