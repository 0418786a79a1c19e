// Windows of streamed weights: no read overwrites a weight in use, in any window from the least to
// all weights.
#include "runtime/plan/stages/weight_window.h"

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::Value;

WindowProblem RandomProblem(std::mt19937_64& random, int count, int steps) {
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<uint64_t>(end));
  };
  WindowProblem problem;
  problem.alignment = 64;
  problem.disk = {0.01, 1000};
  problem.planner.limits.work = 100'000;
  for (int i = 0; i < steps; ++i) problem.step_ms.push_back(below(20) * 0.1);
  for (int i = 0; i < count; ++i) {
    const int first = below(steps), last = below(4) > 0 ? first : first + below(steps - first);
    problem.weights.push_back({1 + below(3) * below(5000) + below(200), first, last});
  }
  return problem;
}

int64_t AllBytes(const WindowProblem& problem) {
  int64_t bytes = 0;
  for (const auto& weight : problem.weights) bytes += (weight.bytes + 63) / 64 * 64;
  return bytes;
}

// Plans a window of at most `budget` bytes, at least the least one's.
WeightWindow PlanWindow(const WindowProblem& problem, int64_t budget) {
  std::optional<WeightWindow> window = PlanReadAhead(problem, budget);
  return window ? *std::move(window) : Value(PlanLeastWindow(problem)).window;
}

// Runs the steps with the reader as far ahead as it may be, and as late as possible. By byte, the
// window holds the weight that wrote it last.
void CheckRuns(const WindowProblem& problem, const WeightWindow& window, bool early) {
  std::vector<int> holds(static_cast<size_t>(window.bytes), -1);
  const auto write = [&](int weight) {
    const int64_t begin = window.offsets[weight];
    ASSERT_EQ(begin % problem.alignment, 0);
    ASSERT_LE(begin + problem.weights[weight].bytes, window.bytes);
    std::fill_n(holds.begin() + begin, problem.weights[weight].bytes, weight);
  };
  for (const int weight : window.resident) write(weight);
  for (int run = 0; run < 2; ++run) {
    size_t read = 0;
    for (int step = 0; step < static_cast<int>(problem.step_ms.size()); ++step) {
      while (read < window.reads.size() && (early ? window.reads[read].after < step
                                                  : static_cast<int>(read) < window.needed[step])) {
        ASSERT_LT(window.reads[read].after, step) << "the run would wait for itself";
        write(window.reads[read++].weight);
      }
      ASSERT_GE(static_cast<int>(read), window.needed[step]);
      for (size_t i = 0; i < problem.weights.size(); ++i) {
        const WindowProblem::Weight& weight = problem.weights[i];
        if (step < weight.first || weight.last < step) continue;
        const auto begin = holds.begin() + window.offsets[i];
        ASSERT_EQ(std::count(begin, begin + weight.bytes, static_cast<int>(i)), weight.bytes)
            << "weight " << i << " at step " << step;
      }
    }
    ASSERT_EQ(read, window.reads.size());
  }
}

TEST(WeightWindowTest, NoReadOverwritesAWeightInUse) {
  std::mt19937_64 random(44);
  for (int trial = 0; trial < 150; ++trial) {
    SCOPED_TRACE(trial);
    const int steps = 1 + static_cast<int>(random() % 30);
    const WindowProblem problem = RandomProblem(random, static_cast<int>(random() % 40), steps);
    const int64_t least = Value(PlanLeastWindow(problem)).window.bytes;
    const int64_t all = AllBytes(problem);
    ASSERT_LE(least, all);
    for (const double share : {0.0, 0.1, 0.5, 1.0}) {
      const int64_t budget = least + static_cast<int64_t>(share * (all - least));
      const WeightWindow window = PlanWindow(problem, budget);
      EXPECT_LE(window.bytes, budget);
      int64_t bytes = 0;
      for (const auto& weight : problem.weights) bytes += weight.bytes;
      EXPECT_EQ(window.resident_bytes + window.read_bytes, bytes);
      EXPECT_TRUE(budget < all || window.reads.empty()) << "all weights fit";
      CheckRuns(problem, window, /*early=*/true);
      CheckRuns(problem, window, /*early=*/false);
      if (HasFatalFailure()) return;
      const WeightWindow again = PlanWindow(problem, budget);
      EXPECT_EQ(again.offsets, window.offsets);
      EXPECT_EQ(again.resident, window.resident);
    }
  }
}

// Ten steps of 1 ms with a weight each, which takes 1 ms to read: one byte of window more than two
// weights lets the reader work while kernels do.
TEST(WeightWindowTest, ReadsAheadWhereTheWindowLeavesRoom) {
  WindowProblem problem;
  problem.disk = {0, 64};
  for (int i = 0; i < 10; ++i) {
    problem.step_ms.push_back(1);
    problem.weights.push_back({64, i, i});
  }
  EXPECT_EQ(Value(PlanLeastWindow(problem)).window.bytes, 64);
  const WeightWindow least = PlanWindow(problem, 64);
  EXPECT_DOUBLE_EQ(least.expected_ms, 20) << "each step waits for its weight";
  EXPECT_DOUBLE_EQ(least.waiting_ms, 10);
  const WeightWindow two = PlanWindow(problem, 128);
  EXPECT_DOUBLE_EQ(two.expected_ms, 11) << "only the first step waits";
  EXPECT_DOUBLE_EQ(two.waiting_ms, 1);
  EXPECT_EQ(two.read_bytes, 640);
  const WeightWindow three = PlanWindow(problem, 192);
  EXPECT_DOUBLE_EQ(three.expected_ms, 10) << "the first weight is resident";
  EXPECT_EQ(three.read_bytes, 576);
}

// A disk takes long for every read: small weights are read once.
TEST(WeightWindowTest, SmallWeightsAreResident) {
  WindowProblem problem;
  problem.disk = {1, 1000};
  for (int i = 0; i < 8; ++i) {
    problem.step_ms.push_back(0.1);
    problem.weights.push_back({i % 2 == 0 ? 10000 : 16, i, i});
  }
  const WeightWindow window = PlanWindow(problem, 10064);
  EXPECT_EQ(window.resident, (std::vector<int>{1, 3, 5, 7}));
  EXPECT_EQ(window.read_bytes, 40000);
}

}  // namespace
}  // namespace ashlar
