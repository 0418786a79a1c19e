#include "runtime/schedule/chunked.h"

#include <gtest/gtest.h>

#include <vector>

namespace ashlar::testing {
namespace {

TEST(Chunked, HoldsWhatAVectorHolds) {
  Chunked<int> list;
  std::vector<int> wanted;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.bytes(), 0);
  for (int i = 0; i < 100'000; ++i) {
    list.push_back(i);
    wanted.push_back(i);
    if (i % 3 == 0) {
      list.pop_back();
      wanted.pop_back();
    }
  }
  list.pop_back(7);
  wanted.resize(wanted.size() - 7);
  ASSERT_EQ(list.size(), wanted.size());
  EXPECT_EQ(list.back(), wanted.back());
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(list[i], wanted[i]);
  EXPECT_GE(list.bytes(), static_cast<int64_t>(wanted.size() * sizeof(int)));
  EXPECT_LE(list.bytes(), static_cast<int64_t>((wanted.size() + 8) * sizeof(int)));
}

}  // namespace
}  // namespace ashlar::testing
