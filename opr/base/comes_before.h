// The order of elements in TopK, for every device.
#ifndef ASHLAR_OPR_BASE_COMES_BEFORE_H_
#define ASHLAR_OPR_BASE_COMES_BEFORE_H_

#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

// Returns whether element `a` at index i comes before `b` at j. Of equal elements the lower index
// comes first. NaN is greater than every number.
template <typename T>
ASHLAR_ANYWHERE_CONSTEXPR bool ComesBefore(bool largest, T a, int64_t i, T b, int64_t j) {
  const bool nan_a = a != a, nan_b = b != b;
  if (nan_a != nan_b) return nan_a == largest;
  if (nan_a || a == b) return i < j;
  return largest ? a > b : a < b;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_COMES_BEFORE_H_
