// Integer functions, exact in 64 bits, for every device. Includes only headers that device
// compilers accept.
#ifndef ASHLAR_OPR_BASE_INTEGER_FUNCTIONS_H_
#define ASHLAR_OPR_BASE_INTEGER_FUNCTIONS_H_

#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

enum class IntegerFunction { kAnd, kOr, kXor, kShiftLeft, kShiftRight, kPow, kAdd, kSub, kMul };

// Computes by repeated squaring; products wrap around.
ASHLAR_ANYWHERE int64_t IntegerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 || (base == -1 && exponent % 2 == 0) ? 1 : base == -1 ? -1 : 0;
  uint64_t power = 1;
  for (uint64_t square = static_cast<uint64_t>(base); exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power *= square;
    square *= square;
  }
  return static_cast<int64_t>(power);
}

// Applies a function to two numbers; the first has a dtype of `bits` bits.
ASHLAR_ANYWHERE int64_t Apply(IntegerFunction function, int64_t a, int64_t b, int bits) {
  const bool shifts_all = b < 0 || b >= bits;
  switch (function) {
    case IntegerFunction::kAnd:
      return a & b;
    case IntegerFunction::kOr:
      return a | b;
    case IntegerFunction::kXor:
      return a ^ b;
    case IntegerFunction::kShiftLeft:
      return shifts_all ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    case IntegerFunction::kShiftRight:
      return shifts_all ? (a < 0 ? -1 : 0) : a >> b;
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
