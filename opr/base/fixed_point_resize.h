// Linear resizing of 8-bit integers in fixed-point numbers, for every device: XNNPACK's (its s8 and
// u8 bilinear interpolation with weights of 11 bits). LiteRT resizes so.
#ifndef ASHLAR_OPR_BASE_FIXED_POINT_RESIZE_H_
#define ASHLAR_OPR_BASE_FIXED_POINT_RESIZE_H_

#include <cmath>
#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

// The positions of outputs among inputs along one axis: output o is at fl(fl(o * step) + offset),
// where fl rounds to Float32. Both numbers are Float32.
struct FixedPointPositions {
  double step = 1, offset = 0;
};

// Products and sums of Float32 in double, rounded to Float32, are the ones of Float32. No compiler
// fuses them.
ASHLAR_ANYWHERE double FixedPointPosition(const FixedPointPositions& axis, int64_t output) {
  const float scaled = static_cast<float>(static_cast<double>(output) * axis.step);
  return static_cast<double>(static_cast<float>(static_cast<double>(scaled) + axis.offset));
}

inline constexpr int32_t kFixedPointOne = 1 << 11;

// Returns the weight of the first input after a position, in 2^-11. The input before has the rest.
ASHLAR_ANYWHERE int32_t FixedPointWeight(double position) {
  return static_cast<int32_t>(rint((position - floor(position)) * kFixedPointOne));
}

// Two inputs of a row.
struct FixedPointPair {
  int32_t left, right;
};
// Returns the weighted sum of four bytes, rounded, a half up. Nothing overflows: sums are below
// 2^30.
ASHLAR_ANYWHERE_CONSTEXPR int32_t FixedPointBlend(const FixedPointPair& above,
                                                  const FixedPointPair& below,
                                                  int32_t column_weight, int32_t row_weight) {
  const int32_t top = above.left * kFixedPointOne + (above.right - above.left) * column_weight;
  const int32_t bottom = below.left * kFixedPointOne + (below.right - below.left) * column_weight;
  return (top * kFixedPointOne + (bottom - top) * row_weight + (1 << 21)) >> 22;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_FIXED_POINT_RESIZE_H_
