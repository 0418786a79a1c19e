// Copies on several threads.
#include "runtime/session/copy_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ashlar::testing {
namespace {

TEST(CopyThreads, CopyEveryByteAndNoOther) {
  constexpr int64_t kBorder = 64;
  std::mt19937 random(17);
  std::vector<char> from(static_cast<size_t>(3 * CopyThreads::kLeast));
  std::generate(from.begin(), from.end(), [&] { return static_cast<char>(random()); });
  for (const int threads : {0, 1, 2, 3, CopyThreads::kMost + 1}) {
    CopyThreads copies(threads);
    for (const int64_t bytes :
         {int64_t{0}, int64_t{1}, CopyThreads::kLeast - 1, CopyThreads::kLeast,
          CopyThreads::kLeast + 1, 2 * CopyThreads::kLeast + CopyThreads::kPart - 1,
          3 * CopyThreads::kLeast}) {
      SCOPED_TRACE(::testing::Message() << threads << " threads, " << bytes << " bytes");
      std::vector<char> to(static_cast<size_t>(bytes + 2 * kBorder), 0x5a);
      copies.Copy(to.data() + kBorder, from.data(), bytes);
      EXPECT_TRUE(std::equal(from.begin(), from.begin() + bytes, to.begin() + kBorder));
      const auto untouched = [](char byte) { return byte == 0x5a; };
      EXPECT_TRUE(std::all_of(to.begin(), to.begin() + kBorder, untouched));
      EXPECT_TRUE(std::all_of(to.end() - kBorder, to.end(), untouched));
    }
  }
}

// Many in a row: none takes slices of the one before.
TEST(CopyThreads, ManyInARow) {
  CopyThreads copies(CopyThreads::kMost);
  std::vector<char> from(static_cast<size_t>(CopyThreads::kLeast)), to(from.size());
  for (int turn = 0; turn < 100; ++turn) {
    std::fill(from.begin(), from.end(), static_cast<char>(turn));
    copies.Copy(to.data(), from.data(), CopyThreads::kLeast);
    ASSERT_EQ(to, from) << turn;
  }
}

}  // namespace
}  // namespace ashlar::testing
