// The emulation of a device's threads: it must run them as a device does, and detect errors.
#include "tests/runtime/cuda/emulation/grid.h"

#include <gtest/gtest.h>

#include <vector>

namespace ashlar::testing {
namespace {

unsigned Number() {
  const ThreadIndex& at = CurrentThread();
  return at.thread.x + at.block_size.x * (at.thread.y + at.block_size.y * at.thread.z);
}

class Grid : public ::testing::TestWithParam<ThreadOrder> {
 protected:
  void SetUp() override { SetThreadOrder(GetParam()); }
  void TearDown() override { SetThreadOrder(ThreadOrder::kForward); }
};

TEST_P(Grid, EveryThreadOfEveryBlockRunsOnce) {
  const Index3 grid = {5, 2, 3}, block = {7, 4, 2};
  std::vector<int> runs(5 * 2 * 3 * 7 * 4 * 2, 0);
  RunGrid(grid, block, [&] {
    const ThreadIndex& at = CurrentThread();
    const unsigned of_grid = at.block.x + 5 * (at.block.y + 2 * at.block.z);
    ++runs[of_grid * 7 * 4 * 2 + Number()];
  });
  for (int count : runs) EXPECT_EQ(count, 1);
}

TEST_P(Grid, BarriersKeepThreadsTogether) {
  constexpr unsigned kThreads = 256, kRounds = 4;
  std::vector<unsigned> values(kThreads, 1), seen(kThreads, 0);
  RunGrid({3, 1, 1}, {kThreads, 1, 1}, [&] {
    for (unsigned round = 0; round < kRounds; ++round) {
      values[Number()] = CurrentThread().block.x * kRounds + round;
      WaitForBlock();
      seen[Number()] = values[(Number() + 77) % kThreads];
      EXPECT_EQ(seen[Number()], CurrentThread().block.x * kRounds + round);
      WaitForBlock();
    }
  });
}

// Threads of a warp continue as soon as their warp has arrived, whatever others do.
TEST_P(Grid, WarpsExchange) {
  RunGrid({2, 1, 1}, {96, 1, 1}, [&] {
    uint64_t sum = Number();
    const unsigned warp = Number() / 32;
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) sum += ExchangeInWarp(sum, lanes);
    EXPECT_EQ(sum, 32 * 32 * warp + 31 * 16);
    if (warp == 1) {
      EXPECT_EQ(ExchangeInWarp(Number(), 1), Number() ^ 1u);
    }
    WaitForBlock();
  });
}

INSTANTIATE_TEST_SUITE_P(Orders, Grid,
                         ::testing::Values(ThreadOrder::kForward, ThreadOrder::kBackward));

// Without a barrier, a write by one thread comes before or after another thread's read.
TEST(Grid, RacesDependOnTheOrder) {
  const auto last_writer = [](ThreadOrder order) {
    SetThreadOrder(order);
    unsigned last = 0;
    RunGrid({1, 1, 1}, {64, 1, 1}, [&] { last = Number(); });
    SetThreadOrder(ThreadOrder::kForward);
    return last;
  };
  EXPECT_EQ(last_writer(ThreadOrder::kForward), 63u);
  EXPECT_EQ(last_writer(ThreadOrder::kBackward), 0u);
}

TEST(GridDeathTest, ThreadsThatWaitForEachOtherAtDifferentPlacesAreFound) {
  EXPECT_DEATH(RunGrid({1, 1, 1}, {64, 1, 1},
                       [] {
                         if (Number() != 5) WaitForBlock();
                       }),
               "different places");
  EXPECT_DEATH(RunGrid({1, 1, 1}, {40, 1, 1}, [] { ExchangeInWarp(1, 1); }), "has fewer");
}

TEST(Grid, LimitsOfADevice) {
  EXPECT_TRUE(CanStart({1u << 30, 65535, 65535}, {32, 8, 4}, 4096));
  for (const Index3& grid : {Index3{0, 1, 1}, Index3{1u << 31, 1, 1}, Index3{1, 65536, 1}}) {
    EXPECT_FALSE(CanStart(grid, {32, 1, 1}, 8));
  }
  for (const Index3& block : {Index3{0, 1, 1}, Index3{1025, 1, 1}, Index3{64, 32, 1}}) {
    EXPECT_FALSE(CanStart({1, 1, 1}, block, 8));
  }
  EXPECT_FALSE(CanStart({1, 1, 1}, {32, 1, 1}, 4097));
}

}  // namespace
}  // namespace ashlar::testing
