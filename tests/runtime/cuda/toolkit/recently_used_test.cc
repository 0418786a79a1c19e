#include "runtime/cuda/toolkit/recently_used.h"

#include <gtest/gtest.h>

#include <memory>

namespace ashlar::cuda {
namespace {

TEST(RecentlyUsed, TheOneUsedLongestAgoMakesRoom) {
  RecentlyUsed<int> values(2);
  EXPECT_EQ(values.Find("a"), nullptr);
  values.Put("a", 1);
  values.Put("b", 2);
  ASSERT_NE(values.Find("a"), nullptr);  // b is the older one now
  values.Put("c", 3);
  EXPECT_EQ(values.Find("b"), nullptr);
  ASSERT_NE(values.Find("a"), nullptr);
  EXPECT_EQ(*values.Find("a"), 1);
  ASSERT_NE(values.Find("c"), nullptr);
  EXPECT_EQ(*values.Find("c"), 3);
}

TEST(RecentlyUsed, AKeyHasItsLastValue) {
  RecentlyUsed<std::shared_ptr<int>> values(2);
  const auto first = std::make_shared<int>(1);
  values.Put("a", first);
  values.Put("b", std::make_shared<int>(2));
  values.Put("a", std::make_shared<int>(3));  // replaces, removes nothing
  EXPECT_EQ(first.use_count(), 1);            // released
  EXPECT_EQ(**values.Find("a"), 3);
  EXPECT_EQ(**values.Find("b"), 2);
}

}  // namespace
}  // namespace ashlar::cuda
