// Random bits that depend on a key and the number of an element only, for every device: the
// finaliser of SplitMix64 (Steele, Lea and Flood 2014), applied to the key, then to the element.
#ifndef ASHLAR_OPR_BASE_RANDOM_BITS_H_
#define ASHLAR_OPR_BASE_RANDOM_BITS_H_

#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

ASHLAR_ANYWHERE_CONSTEXPR uint64_t MixBits(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
// Returns 53 bits, as many as a double holds.
ASHLAR_ANYWHERE_CONSTEXPR uint64_t RandomBits(uint64_t key, int64_t element) {
  return MixBits(key ^ static_cast<uint64_t>(element)) >> 11;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_RANDOM_BITS_H_
