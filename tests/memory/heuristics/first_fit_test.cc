#include "memory/heuristics/first_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/heuristics/dive.h"
#include "tests/memory/instances.h"
#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

// Undone placements leave no trace: later placements are the same as in a plan without them.
TEST(FirstFitTest, PlacesAnewWhatWasTakenBack) {
  testing::ForRandomProblems(
      40,
      [&](uint32_t seed, const Problem& problem, const Instance& instance) {
        std::vector<int32_t> order = DiveOrder(instance, DivePriority::kArea);
        std::mt19937 random(seed);
        Work work;
        FirstFit fit(instance);
        for (const int32_t g : order) fit.Place(g, work);
        for (int i = 0; i < 20; ++i) {
          const size_t left = random() % order.size();
          fit.TakeBack(left);
          ASSERT_EQ(fit.placed(), left);
          std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(left), order.end(), random);
          for (size_t k = left; k < order.size(); ++k) fit.Place(order[k], work);
          ASSERT_EQ(fit.bases(), PlaceFirstFit(instance, order, work));
          ASSERT_TRUE(testing::IsValid(problem, instance.MakePlan(problem, fit.bases())));
        }
      },
      {.buffers = 60, .steps = 12, .largest = 50});
}

}  // namespace
}  // namespace ashlar::memory
