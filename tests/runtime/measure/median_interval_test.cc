// Compares intervals of medians with the binomial distribution, summed term by term.
#include "runtime/measure/median_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace ashlar::testing {
namespace {

// The probability that the median lies between the k-th smallest and the k-th largest of n samples.
double Coverage(int n, int k) {
  double outside = 0;
  for (int i = 0; i < k; ++i) {
    outside += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) -
                        n * std::log(2.0));
  }
  return 1 - 2 * outside;
}

TEST(MedianInterval, IsTheNarrowestOfItsConfidence) {
  for (int n = 0; n <= 60; ++n) {
    SCOPED_TRACE(n);
    std::vector<double> samples;
    for (int i = n; i > 0; --i) samples.push_back(i);  // the k-th smallest is k
    const std::optional<MedianInterval> interval = MedianIntervalOf(samples);
    ASSERT_EQ(interval.has_value(), n >= 6);
    if (n < 6) continue;
    EXPECT_EQ(interval->median, (n + 1) / 2.0);
    const int k = static_cast<int>(interval->low);
    EXPECT_EQ(interval->high, n + 1 - k);
    EXPECT_GE(Coverage(n, k), 0.95);
    EXPECT_LT(Coverage(n, k + 1), 0.95);
  }
}

TEST(MedianInterval, HoldsTheMedianAsOftenAsItSays) {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> distribution(0, 1);  // its median is 1
  constexpr int kTimes = 2000;
  for (const int n : {6, 12, 25}) {
    int held = 0;
    for (int time = 0; time < kTimes; ++time) {
      std::vector<double> samples(n);
      for (double& sample : samples) sample = distribution(random);
      const MedianInterval interval = *MedianIntervalOf(samples);
      held += interval.low <= 1 && 1 <= interval.high;
    }
    EXPECT_GE(held, kTimes * 0.94) << n;
  }
}

TEST(MedianInterval, OfNoSamplesTheMedianIsZero) {
  EXPECT_EQ(MedianOf({}), 0);
  EXPECT_EQ(MedianOf({3, 1}), 2);
  EXPECT_EQ(MedianOf({3, 1, 2}), 2);
}

}  // namespace
}  // namespace ashlar::testing
