// The type in which integers of every dtype are computed, on every device.
#ifndef ASHLAR_OPR_BASE_WRAPPING_INT_H_
#define ASHLAR_OPR_BASE_WRAPPING_INT_H_

#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

// A 64-bit integer whose arithmetic wraps around as two's complement. Sums, differences and
// products of narrower dtypes are exact modulo 2^bits: the lower bits of a result are the wrapped
// result of the narrower dtype. Quotients are truncated towards zero; a quotient or remainder by
// zero is zero, as in NumPy.
struct WrappingInt {
  int64_t value = 0;

  WrappingInt() = default;
  ASHLAR_ANYWHERE_CONSTEXPR WrappingInt(int64_t number) : value(number) {}

  friend ASHLAR_ANYWHERE_CONSTEXPR WrappingInt operator+(WrappingInt a, WrappingInt b) {
    return Of(a.bits() + b.bits());
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR WrappingInt operator-(WrappingInt a, WrappingInt b) {
    return Of(a.bits() - b.bits());
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR WrappingInt operator*(WrappingInt a, WrappingInt b) {
    return Of(a.bits() * b.bits());
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR WrappingInt operator/(WrappingInt a, WrappingInt b) {
    if (b.value == 0) return 0;
    return b.value == -1
               ? -a
               : WrappingInt(a.value / b.value);  // the smallest number divided by -1 traps
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR WrappingInt operator%(WrappingInt a, WrappingInt b) {
    return b.value == 0 || b.value == -1 ? WrappingInt(0) : WrappingInt(a.value % b.value);
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR WrappingInt operator-(WrappingInt a) { return Of(0 - a.bits()); }
  ASHLAR_ANYWHERE_CONSTEXPR WrappingInt& operator+=(WrappingInt b) { return *this = *this + b; }

  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator==(WrappingInt a, WrappingInt b) {
    return a.value == b.value;
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator!=(WrappingInt a, WrappingInt b) {
    return a.value != b.value;
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator<(WrappingInt a, WrappingInt b) {
    return a.value < b.value;
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator>(WrappingInt a, WrappingInt b) { return b < a; }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator<=(WrappingInt a, WrappingInt b) {
    return !(b < a);
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator>=(WrappingInt a, WrappingInt b) {
    return !(a < b);
  }

  // Returns the number rounded towards zero and saturated; 0 for NaN.
  static ASHLAR_ANYWHERE_CONSTEXPR WrappingInt Truncated(double number) {
    if (number != number) return 0;
    if (number >= 9223372036854775808.0) return INT64_MAX;
    return number < -9223372036854775808.0 ? INT64_MIN : static_cast<int64_t>(number);
  }

 private:
  ASHLAR_ANYWHERE_CONSTEXPR uint64_t bits() const { return static_cast<uint64_t>(value); }
  static ASHLAR_ANYWHERE_CONSTEXPR WrappingInt Of(uint64_t bits) {
    return static_cast<int64_t>(bits);
  }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_WRAPPING_INT_H_
