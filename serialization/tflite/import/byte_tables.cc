#include "serialization/tflite/import/byte_tables.h"

#include <algorithm>
#include <cmath>

namespace ashlar {
namespace {

constexpr int kFraction = 8;  // bits of XNNPACK's ratios of scales

std::vector<int64_t> TableOf(const TensorType& input, const OutputType& output,
                             const auto& function) {
  std::vector<int64_t> table;
  for (int64_t integer = LeastOf(input.dtype); integer <= MostOf(input.dtype); ++integer) {
    const int64_t steps = function(integer - input.quantization.zero_point());
    table.push_back(std::clamp<int64_t>(steps + output.zero_point, LeastOf(output.dtype),
                                        MostOf(output.dtype)));
  }
  return table;
}

// A positive number as 16 bits (from 2^14, the number's share of 2^15) and a power of two.
struct Factor {
  int64_t fraction = 0;
  int exponent = 0;

  explicit Factor(float number) {
    const double share = std::frexp(static_cast<double>(number), &exponent);
    auto bits = static_cast<int64_t>(std::round(std::ldexp(share, 31)));
    if (bits == int64_t{1} << 31) {
      bits /= 2;
      ++exponent;
    }
    fraction = std::min<int64_t>((bits + (1 << 15)) >> 16, INT16_MAX);
  }
};

int64_t Saturated(int64_t value) { return std::clamp<int64_t>(value, INT16_MIN, INT16_MAX); }

// Twice the upper half of a product of 16 bits, rounded half away from zero.
int64_t RoundedProduct(int64_t a, int64_t b) {
  const int64_t product = a * b;
  const int64_t nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
  return Saturated((product + nudge) / (1 << 15));
}

// value / 2^exponent, rounded half away from zero.
int64_t RoundedQuotient(int64_t value, int exponent) {
  const int64_t mask = (int64_t{1} << exponent) - 1;
  const int64_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return (value >> exponent) + ((value & mask) > threshold ? 1 : 0);
}

}  // namespace

std::optional<std::vector<int64_t>> XnnpackLinearTable(const TensorType& input,
                                                       const OutputType& output, float slope) {
  constexpr float kLeast = 1.0f / (1 << kFraction), kMost = 128;
  const float ratio = input.quantization.scale() / static_cast<float>(output.scale);
  const float below = ratio * slope;
  // Negated, as NaN is in no range.
  if (!(ratio >= kLeast) || !(ratio <= kMost) || !(std::abs(below) <= kMost)) return std::nullopt;
  if (slope != 1 && !(std::abs(below) >= kLeast)) return std::nullopt;
  const auto factor = [](float of) { return std::lrint(of * (1 << kFraction)); };
  const int64_t positive = factor(ratio), negative = factor(below);
  return TableOf(input, output, [&](int64_t x) {
    return (x * (x >= 0 ? positive : negative) + (1 << (kFraction - 1))) >> kFraction;
  });
}

std::optional<std::vector<int64_t>> LiteRtHardSwishTable(const TensorType& input,
                                                         const OutputType& output) {
  constexpr float kFine = 1.0f / 128, kReluish = 3.0f / 32768;
  const float scale = kFine * input.quantization.scale();
  const float to_output = scale / static_cast<float>(output.scale), to_reluish = scale / kReluish;
  constexpr float kTiny = 0x1p-30f, kHuge = 0x1p14f;
  for (const float ratio : {to_output, to_reluish}) {
    if (!(ratio > kTiny) || !(ratio < kHuge)) return std::nullopt;
  }
  const Factor of_output(to_output), of_reluish(to_reluish);
  if (of_output.exponent > 0) return std::nullopt;
  return TableOf(input, output, [&](int64_t x) {
    const int64_t fine = x * 128;
    const int64_t scaled = RoundedProduct(fine, of_output.fraction);
    int64_t reluish = fine;
    if (of_reluish.exponent > 0) reluish = Saturated(reluish << (of_reluish.exponent - 1));
    reluish = RoundedProduct(reluish, of_reluish.fraction);
    if (of_reluish.exponent > 0) reluish = Saturated(reluish * 2);
    if (of_reluish.exponent < 0) reluish = RoundedQuotient(reluish, -of_reluish.exponent);
    reluish = (reluish + (1 << 15)) >> 1;
    return RoundedQuotient(Saturated(reluish * scaled / (1 << 15)), -of_output.exponent);
  });
}

}  // namespace ashlar
