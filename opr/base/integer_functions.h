// Integer functions, exact in 64 bits, for every device. Includes only headers that device
// compilers accept.
#ifndef ASHLAR_OPR_BASE_INTEGER_FUNCTIONS_H_
#define ASHLAR_OPR_BASE_INTEGER_FUNCTIONS_H_

#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

enum class IntegerFunction { kAnd, kOr, kXor, kShiftLeft, kShiftRight, kPow, kAdd, kSub, kMul };

// Computes by repeated squaring; products wrap around. Base and Exponent are int64_t or uint64_t.
template <typename Base, typename Exponent>
ASHLAR_ANYWHERE int64_t IntegerPower(Base base, Exponent exponent) {
  if (exponent < 0) {
    const bool minus_one = base < 0 && base + 1 == 0;
    return base == 1 || (minus_one && exponent % 2 == 0) ? 1 : minus_one ? -1 : 0;
  }
  uint64_t power = 1;
  for (uint64_t square = static_cast<uint64_t>(base); exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power *= square;
    square *= square;
  }
  return static_cast<int64_t>(power);
}

// Applies a function to two numbers; the first has a dtype of `bits` bits. A and B are int64_t, or
// uint64_t for Uint64. The result has the bits of an A.
template <typename A, typename B>
ASHLAR_ANYWHERE int64_t Apply(IntegerFunction function, A a, B b, int bits) {
  const bool shifts_all = b < 0 || b >= static_cast<B>(bits);
  switch (function) {
    case IntegerFunction::kAnd:
      return static_cast<int64_t>(a & static_cast<A>(b));
    case IntegerFunction::kOr:
      return static_cast<int64_t>(a | static_cast<A>(b));
    case IntegerFunction::kXor:
      return static_cast<int64_t>(a ^ static_cast<A>(b));
    case IntegerFunction::kShiftLeft:
      return shifts_all ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    case IntegerFunction::kShiftRight:
      return shifts_all ? (a < 0 ? -1 : 0) : static_cast<int64_t>(a >> b);
    case IntegerFunction::kPow:
      return IntegerPower(a, b);
    case IntegerFunction::kAdd:
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case IntegerFunction::kSub:
      return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    case IntegerFunction::kMul:
      break;
  }
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_INTEGER_FUNCTIONS_H_
