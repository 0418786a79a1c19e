// Which elements Dropout keeps, on every device.
#ifndef ASHLAR_OPR_DROPOUT_MASK_H_
#define ASHLAR_OPR_DROPOUT_MASK_H_

#include <cstdint>

#include "opr/anywhere.h"

namespace ashlar {

// The state that all elements of a step share, and whether one of them stays. The number of an
// element follows from these alone, so that its gradient makes the mask again. The function is the
// finaliser of SplitMix64 (Steele, Lea and Flood 2014), applied to seed and step, then to the
// element.
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutMix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutKey(int64_t seed, int64_t step) {
  return DropoutMix(DropoutMix(static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(step));
}
// An element stays where its 53 bits are not below this.
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutThreshold(double probability) {
  return static_cast<uint64_t>(probability * 9007199254740992.0);
}
ASHLAR_ANYWHERE_CONSTEXPR bool DropoutKeeps(uint64_t key, int64_t element, uint64_t threshold) {
  return DropoutMix(key ^ static_cast<uint64_t>(element)) >> 11 >= threshold;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_DROPOUT_MASK_H_
