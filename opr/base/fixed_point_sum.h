// Sums of quantised integers in fixed-point numbers, with XNNPACK's factors of 21 bits (the
// parameters of its qs8 and qu8 additions). LiteRT adds so.
#ifndef ASHLAR_OPR_BASE_FIXED_POINT_SUM_H_
#define ASHLAR_OPR_BASE_FIXED_POINT_SUM_H_

#include <cstdint>
#include <optional>

#include "opr/base/anywhere.h"

namespace ashlar {

struct FixedPointSum {
  int32_t a = 0, b = 0;  // factors of the operands' steps from their zero points, below 2^21
  int32_t shift = 0;     // 12 to 30; 0: absent

  // Returns nullopt unless both operands' scales are from 2^-10 to below 2^8 of the output's.
  static std::optional<FixedPointSum> Between(float a_scale, float b_scale, float output_scale);

  ASHLAR_ANYWHERE_CONSTEXPR bool absent() const { return shift == 0; }
  // Returns floor((x * a + y * b) / 2^shift + 1/2), the output's steps from its zero point. x and y
  // are from -255 to 255, so that nothing overflows. Always inlined: kernels of several instruction
  // sets call it.
  [[gnu::always_inline]] ASHLAR_ANYWHERE_CONSTEXPR int32_t Of(int32_t x, int32_t y) const {
    return (x * a + y * b + (int32_t{1} << (shift - 1))) >> shift;
  }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_FIXED_POINT_SUM_H_
