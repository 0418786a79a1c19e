// Ranges from histograms, and weights as integers.
#include "quantization/range.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "opr/rewrites/quantized_weights.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr RangeMethod kMethods[] = {RangeMethod::kMinMax, RangeMethod::kPercentile,
                                    RangeMethod::kMse, RangeMethod::kEntropy};

// Returns normal values, rectified or not, with one of ten thousand far away.
std::vector<float> SomeValues(bool rectified, double outlier) {
  std::mt19937_64 random(11);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (int i = 0; i < 10000; ++i) {
    const float value = normal(random);
    values.push_back(rectified ? std::max(value, 0.0f) : value);
  }
  if (outlier != 0) values[5000] = static_cast<float>(outlier);
  return values;
}

Histogram HistogramOf(const std::vector<float>& values) {
  float least = 0, most = 0;
  for (const float value : values) least = std::min(least, value), most = std::max(most, value);
  Histogram histogram(least, most);
  histogram.Add(values);
  return histogram;
}

// Returns the mean square error of 8 bits, value by value.
double MeanError(const std::vector<float>& values, const ValueRange& range) {
  const TensorType type = Value(TypeOfRange(range, {1}));
  const double scale = type.quantization.scale(), zero = type.quantization.zero_point();
  double sum = 0;
  for (const float value : values) {
    const double integer = std::clamp(std::nearbyint(value / scale) + zero, 0.0, 255.0);
    sum += std::pow((integer - zero) * scale - value, 2);
  }
  return sum / static_cast<double>(values.size());
}

TEST(RangeTest, ZeroIsInsideAndIsAnInteger) {
  for (const auto& [least, most] : {std::pair{-1.0, 3.0}, {0.5, 3.0}, {-3.0, -0.5}, {0.0, 0.0}}) {
    const TensorType type = Value(TypeOfRange({least, most}, {2, 3}));
    const ValueRange range = RangeOfType(type);
    const double half = type.quantization.scale() / 2 * 1.001;
    EXPECT_LE(range.least, std::min(least, 0.0) + half);
    EXPECT_GE(range.most, std::max(most, 0.0) - half);
    EXPECT_GE(type.quantization.zero_point(), 0);
    EXPECT_LE(type.quantization.zero_point(), 255);
    if (least >= 0) {
      EXPECT_EQ(type.quantization.zero_point(), 0);
    }
  }
}

TEST(RangeTest, MinMaxIsAllValues) {
  const std::vector<float> values = SomeValues(false, 40);
  const ValueRange range = ChooseRange(HistogramOf(values), RangeMethod::kMinMax, 0);
  EXPECT_EQ(range.most, 40);
  EXPECT_EQ(ClippedShare(HistogramOf(values), range), 0);
}

// An outlier costs the other values precision. In the mean square, one of ten thousand still
// counts.
TEST(RangeTest, OtherMethodsLeaveOutliersOut) {
  for (const bool rectified : {false, true}) {
    const std::vector<float> values = SomeValues(rectified, 40);
    const Histogram histogram = HistogramOf(values);
    const double all = MeanError(values, ChooseRange(histogram, RangeMethod::kMinMax, 0));
    for (const RangeMethod method : {RangeMethod::kPercentile, RangeMethod::kEntropy}) {
      const ValueRange range = ChooseRange(histogram, method, 99.9);
      EXPECT_LT(range.most, 39) << kRangeMethodNames[static_cast<int>(method)];
      EXPECT_LE(range.least, 0);
      EXPECT_GT(ClippedShare(histogram, range), 0);
      EXPECT_LT(ClippedShare(histogram, range), 0.1);
    }
    EXPECT_LE(MeanError(values, ChooseRange(histogram, RangeMethod::kMse, 0)), all);
  }
}

// Compares with all ranges whose ends are each at one of 20 places, by the errors of the values
// themselves.
TEST(RangeTest, MseIsNearTheLeastThatThereIs) {
  for (const double outlier : {0.0, 6.0, 15.0}) {
    const std::vector<float> values = SomeValues(false, outlier);
    const Histogram histogram = HistogramOf(values);
    double least = std::numeric_limits<double>::infinity();
    for (int i = 1; i <= 20; ++i) {
      for (int k = 1; k <= 20; ++k) {
        least = std::min(
            least, MeanError(values, {histogram.least() * i / 20, histogram.most() * k / 20}));
      }
    }
    EXPECT_LE(MeanError(values, ChooseRange(histogram, RangeMethod::kMse, 0)), least * 1.1);
  }
}

TEST(RangeTest, ZerosAloneHaveAnyType) {
  for (const RangeMethod method : kMethods) {
    const ValueRange range = ChooseRange(HistogramOf({0, 0, 0}), method, 99);
    EXPECT_EQ(range.least, 0);
    EXPECT_EQ(range.most, 0);
    EXPECT_TRUE(IsOk(TypeOfRange(range, {1}).status()));
  }
}

// Each weight is off by at most half a step of its channel. A channel gets coarser steps if its
// bias would exceed 32 bits of the sums' steps.
TEST(QuantizedWeightsTest, ScalesHoldWeightsAndBias) {
  std::mt19937_64 random(2);
  HostTensor filter = RandomTensor(random, {4, 3, 3, 3});
  for (int64_t i = 27; i < 54; ++i) filter.Set(i, filter.At(i) * 1e-9);
  for (int64_t i = 54; i < 81; ++i) filter.Set(i, 0);
  const std::vector<double> bias = {0.5, 30, 7, -2};
  const Quantization src = Value(Quantization::Make(DType::kQuantized8Asymm, {0.01f}, 3));
  for (const bool by_channel : {true, false}) {
    const QuantizedWeights made = Value(QuantizeWeights(filter, bias, src, by_channel));
    const auto scales = made.filter.quantization().scales();
    ASSERT_EQ(scales.size(), by_channel ? 4u : 1u);
    for (int64_t i = 0; i < filter.num_elements(); ++i) {
      const float scale = scales[by_channel ? static_cast<size_t>(i / 27) : 0];
      EXPECT_LE(std::abs(made.filter.At(i)), 127);
      EXPECT_LE(std::abs(made.filter.At(i) * scale - filter.At(i)), scale * 0.5001);
    }
    for (int64_t c = 0; c < 4; ++c) {
      const float scale =
          made.bias.quantization().scales()[by_channel ? static_cast<size_t>(c) : 0];
      EXPECT_LE(std::abs(made.bias.At(c)), 1 << 30);
      EXPECT_NEAR(
          made.bias.At(c) * scale, bias[static_cast<size_t>(c)],
          std::max(scale, 1e-6f * static_cast<float>(std::abs(bias[static_cast<size_t>(c)]))));
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
