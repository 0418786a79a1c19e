#include "opr/base/fixed_point_sum.h"

#include <algorithm>
#include <cmath>

namespace ashlar {

// The larger factor is in [2^20, 2^21).
std::optional<FixedPointSum> FixedPointSum::Between(float a_scale, float b_scale,
                                                    float output_scale) {
  constexpr int kBits = 21;
  constexpr float kLeast = 0x1p-10f, kMost = 0x1p8f;
  const float a = a_scale / output_scale, b = b_scale / output_scale;
  if (!(std::min(a, b) >= kLeast && std::max(a, b) < kMost)) return std::nullopt;
  const int shift = kBits - 1 - std::ilogb(std::max(a, b));
  const auto factor = [&](float ratio) {
    return static_cast<int32_t>(std::lrint(std::ldexp(static_cast<double>(ratio), shift)));
  };
  return FixedPointSum{factor(a), factor(b), shift};
}

}  // namespace ashlar
