// Compares the tree's queries, which dives use, with a scan of everything.
#include "memory/problem/load_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "memory/problem/lifetime_index.h"
#include "tests/memory/instances.h"
#include "tests/memory/problems.h"

namespace ashlar::memory {
namespace {

TEST(LoadTreeTest, FindsTheFullestSection) {
  std::mt19937 random(1);
  for (const int32_t sections : {1, 2, 7, 64, 100}) {
    SCOPED_TRACE(sections);
    std::vector<int64_t> load(sections);
    for (int64_t& bytes : load) bytes = random() % 20;
    LoadTree tree(load);
    for (int i = 0; i < 300; ++i) {
      const int32_t begin = static_cast<int32_t>(random() % sections);
      const int32_t end = begin + 1 + static_cast<int32_t>(random() % (sections - begin));
      ASSERT_EQ(tree.Fullest(begin, end),
                std::max_element(load.begin() + begin, load.begin() + end) - load.begin());
      const int64_t bytes = static_cast<int64_t>(random() % 11) - 5;
      tree.Add(begin, end, bytes);
      for (int32_t s = begin; s < end; ++s) load[s] += bytes;
    }
  }
}

TEST(LifetimeIndexTest, FindsTheFirstThatLivesAtASection) {
  const Instance instance =
      testing::InstanceOf(testing::RandomProblem(3, {.buffers = 200, .steps = 60}));
  LifetimeIndex index(instance);
  std::mt19937 random(1);
  std::vector<int32_t> order(instance.groups());
  for (int32_t g = 0; g < instance.groups(); ++g) order[g] = g;
  std::shuffle(order.begin(), order.end(), random);
  index.Fill(order);
  while (!order.empty()) {
    const int32_t at = static_cast<int32_t>(random() % instance.sections());
    const int32_t begin = at - static_cast<int32_t>(random() % 10);
    const int32_t end = at + 1 + static_cast<int32_t>(random() % 10);
    const auto within = [&](int32_t g) {
      return instance.begin(g) >= begin && instance.end(g) <= end;
    };
    const auto at_section = [&](int32_t g) {
      return within(g) && instance.begin(g) <= at && at < instance.end(g);
    };
    const auto any = std::find_if(order.begin(), order.end(), within);
    ASSERT_EQ(index.First(begin, end), any == order.end() ? -1 : *any);
    const auto first = std::find_if(order.begin(), order.end(), at_section);
    ASSERT_EQ(index.FirstAt(at, begin, end), first == order.end() ? -1 : *first);
    const auto removed = order.begin() + static_cast<int64_t>(random() % order.size());
    index.Remove(*removed);
    order.erase(removed);
  }
}

}  // namespace
}  // namespace ashlar::memory
