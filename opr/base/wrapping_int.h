// The types in which integers of every dtype are computed, on every device.
#ifndef ASHLAR_OPR_BASE_WRAPPING_INT_H_
#define ASHLAR_OPR_BASE_WRAPPING_INT_H_

#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

// A 64-bit integer whose arithmetic wraps around as two's complement. Sums, differences and
// products of narrower dtypes are exact modulo 2^bits: the lower bits of a result are the wrapped
// result of the narrower dtype. Quotients are truncated towards zero; a quotient or remainder by
// zero is zero, as in NumPy. Integer is int64_t, or uint64_t for Uint64, whose numbers no int64_t
// holds.
template <typename Integer>
struct Wrapping {
  Integer value = 0;

  Wrapping() = default;
  ASHLAR_ANYWHERE_CONSTEXPR Wrapping(Integer number) : value(number) {}

  friend ASHLAR_ANYWHERE_CONSTEXPR Wrapping operator+(Wrapping a, Wrapping b) {
    return Of(a.bits() + b.bits());
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR Wrapping operator-(Wrapping a, Wrapping b) {
    return Of(a.bits() - b.bits());
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR Wrapping operator*(Wrapping a, Wrapping b) {
    return Of(a.bits() * b.bits());
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR Wrapping operator/(Wrapping a, Wrapping b) {
    if (b.value == 0) return 0;
    // The smallest number divided by -1 traps.
    return kSigned && b == Wrapping(-1) ? -a : Wrapping(a.value / b.value);
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR Wrapping operator%(Wrapping a, Wrapping b) {
    const bool traps = b.value == 0 || (kSigned && b == Wrapping(-1));
    return traps ? Wrapping(0) : Wrapping(a.value % b.value);
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR Wrapping operator-(Wrapping a) { return Of(0 - a.bits()); }
  ASHLAR_ANYWHERE_CONSTEXPR Wrapping& operator+=(Wrapping b) { return *this = *this + b; }

  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator==(Wrapping a, Wrapping b) {
    return a.value == b.value;
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator!=(Wrapping a, Wrapping b) {
    return a.value != b.value;
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator<(Wrapping a, Wrapping b) {
    return a.value < b.value;
  }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator>(Wrapping a, Wrapping b) { return b < a; }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator<=(Wrapping a, Wrapping b) { return !(b < a); }
  friend ASHLAR_ANYWHERE_CONSTEXPR bool operator>=(Wrapping a, Wrapping b) { return !(a < b); }

  // Returns the number rounded towards zero and saturated; 0 for NaN.
  static ASHLAR_ANYWHERE_CONSTEXPR Wrapping Truncated(double number) {
    constexpr double kBeyond = kSigned ? 9223372036854775808.0 : 18446744073709551616.0;
    if (number != number) return 0;
    if (number >= kBeyond) return kSigned ? Of(~uint64_t{0} >> 1) : Of(~uint64_t{0});
    if (number < (kSigned ? -kBeyond : 0)) return kSigned ? Of(uint64_t{1} << 63) : Of(0);
    return static_cast<Integer>(number);
  }

 private:
  static constexpr bool kSigned = static_cast<Integer>(-1) < Integer{0};
  ASHLAR_ANYWHERE_CONSTEXPR uint64_t bits() const { return static_cast<uint64_t>(value); }
  static ASHLAR_ANYWHERE_CONSTEXPR Wrapping Of(uint64_t bits) { return static_cast<Integer>(bits); }
};

using WrappingInt = Wrapping<int64_t>;
using WrappingUint = Wrapping<uint64_t>;

template <typename Number>
inline constexpr bool kWraps = false;
template <typename Integer>
inline constexpr bool kWraps<Wrapping<Integer>> = true;

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_WRAPPING_INT_H_
