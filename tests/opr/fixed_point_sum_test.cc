// Sums in fixed-point numbers, against doubles, which hold them exactly.
#include "opr/base/fixed_point_sum.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace ashlar {
namespace {

TEST(FixedPointSum, RoundsTheExactSumHalfUp) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-9.9f, 7.9f);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(::testing::Message() << "round " << round);
    const float a = std::exp2(exponent(random)), b = std::exp2(exponent(random));
    const auto sum = FixedPointSum::Between(a, b, 1);
    ASSERT_TRUE(sum.has_value());
    EXPECT_GE(std::max(sum->a, sum->b), 1 << 20);
    EXPECT_LE(std::max(sum->a, sum->b), 1 << 21);
    EXPECT_NEAR(std::ldexp(sum->a, -sum->shift), a, std::ldexp(0.5, -sum->shift));
    EXPECT_NEAR(std::ldexp(sum->b, -sum->shift), b, std::ldexp(0.5, -sum->shift));
    for (const int x : {-255, -128, -1, 0, 3, 77, 255}) {
      for (const int y : {-255, -100, -2, 0, 1, 64, 255}) {
        const double exact = std::ldexp(double(x) * sum->a + double(y) * sum->b, -sum->shift);
        ASSERT_EQ(sum->Of(x, y), std::floor(exact + 0.5)) << x << " and " << y;
      }
    }
  }
}

TEST(FixedPointSum, IsOfScalesNearTheOutputs) {
  EXPECT_EQ(FixedPointSum::Between(0.5f, 0.25f, 1)->shift, 21);
  EXPECT_EQ(FixedPointSum::Between(0.5f, 0.25f, 1)->b, 1 << 19);
  EXPECT_TRUE(FixedPointSum::Between(0x1p-10f, 0x1p-10f, 1));
  EXPECT_FALSE(FixedPointSum::Between(0x1p-11f, 1, 1));
  EXPECT_FALSE(FixedPointSum::Between(1, 256, 1));
  EXPECT_FALSE(FixedPointSum::Between(1, 1, 0x1p-140f));
}

}  // namespace
}  // namespace ashlar
