// Decides which elements Dropout keeps, for every device.
#ifndef ASHLAR_OPR_BASE_DROPOUT_MASK_H_
#define ASHLAR_OPR_BASE_DROPOUT_MASK_H_

#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

// Mixes the state that all elements of a step share, and then decides about each element. The
// result depends on seed, step and element only, so that the gradient can recompute the mask. The
// function is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), applied to seed and step,
// then to the element.
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutMix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutKey(int64_t seed, int64_t step) {
  return DropoutMix(DropoutMix(static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(step));
}
// An element stays if its 53 bits are at least this threshold.
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutThreshold(double probability) {
  return static_cast<uint64_t>(probability * 9007199254740992.0);
}
ASHLAR_ANYWHERE_CONSTEXPR bool DropoutKeeps(uint64_t key, int64_t element, uint64_t threshold) {
  return DropoutMix(key ^ static_cast<uint64_t>(element)) >> 11 >= threshold;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_DROPOUT_MASK_H_
