// From a thread's number to elements of tensors. Compiles for the host and for devices.
#ifndef ASHLAR_RUNTIME_CUDA_INDEX_H_
#define ASHLAR_RUNTIME_CUDA_INDEX_H_

#include <cstdint>

#include "runtime/cuda/scalar.h"

namespace ashlar::cuda {

inline constexpr int kMaxRank = 8;

// A divisor known before the launch, for numbers below 2^31. It divides by a multiplication.
struct Divisor {
  uint32_t value = 1;
  uint32_t factor = 1;
  uint32_t shift = 0;
};

// `value` is in [1, 2^31 - 1].
inline Divisor MakeDivisor(int64_t value) {
  Divisor divisor;
  divisor.value = static_cast<uint32_t>(value);
  while ((uint64_t{1} << divisor.shift) < divisor.value) ++divisor.shift;
  const uint64_t excess = (uint64_t{1} << divisor.shift) - divisor.value;
  divisor.factor = static_cast<uint32_t>((excess << 32) / divisor.value + 1);
  return divisor;
}

ASHLAR_HD uint32_t Quotient(uint32_t number, const Divisor& divisor) {
  const uint32_t high =
      static_cast<uint32_t>((static_cast<uint64_t>(number) * divisor.factor) >> 32);
  return (high + number) >> divisor.shift;
}

// A row-major index space.
struct Extents {
  int rank = 0;
  int64_t elements = 1;
  int64_t sizes[kMaxRank] = {};
  Divisor divisors[kMaxRank];
};

// Returns the coordinate along `axis` of `number`, and divides it out of `number`, which then
// counts the axes before.
ASHLAR_HD int64_t TakeCoordinate(const Extents& extents, int axis, int64_t& number) {
  if (extents.elements < (int64_t{1} << 31)) {
    const uint32_t narrow = static_cast<uint32_t>(number);
    const uint32_t quotient = Quotient(narrow, extents.divisors[axis]);
    const uint32_t rest = narrow - quotient * extents.divisors[axis].value;
    number = quotient;
    return rest;
  }
  const int64_t quotient = number / extents.sizes[axis];
  const int64_t rest = number - quotient * extents.sizes[axis];
  number = quotient;
  return rest;
}

// The strides of several tensors over one index space: for each operand and axis, in elements, 0 if
// it is broadcast.
template <int kOperands>
struct Walk {
  Extents extents;
  int64_t strides[kOperands][kMaxRank] = {};
  int64_t base[kOperands] = {};
};

// Loop bounds are constants, so that arrays stay in registers.
template <int kOperands>
ASHLAR_HD void Locate(const Walk<kOperands>& walk, int64_t number, int64_t (&offsets)[kOperands]) {
  ASHLAR_UNROLL
  for (int k = 0; k < kOperands; ++k) offsets[k] = walk.base[k];
  ASHLAR_UNROLL
  for (int axis = kMaxRank - 1; axis >= 0; --axis) {
    if (axis >= walk.extents.rank) continue;
    const int64_t at = axis == 0 ? number : TakeCoordinate(walk.extents, axis, number);
    ASHLAR_UNROLL
    for (int k = 0; k < kOperands; ++k) offsets[k] += at * walk.strides[k][axis];
  }
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_INDEX_H_
