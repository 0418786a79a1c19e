// Decides which elements Dropout keeps, for every device.
#ifndef ASHLAR_OPR_BASE_DROPOUT_MASK_H_
#define ASHLAR_OPR_BASE_DROPOUT_MASK_H_

#include <cstdint>

#include "opr/base/random_bits.h"

namespace ashlar {

// Mixes the state that all elements of a step share. The decision about an element depends on seed,
// step and element only, so that the gradient can recompute the mask.
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutKey(int64_t seed, int64_t step) {
  return MixBits(MixBits(static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(step));
}
// An element stays if its 53 bits are at least this threshold.
ASHLAR_ANYWHERE_CONSTEXPR uint64_t DropoutThreshold(double probability) {
  return static_cast<uint64_t>(probability * 9007199254740992.0);
}
ASHLAR_ANYWHERE_CONSTEXPR bool DropoutKeeps(uint64_t key, int64_t element, uint64_t threshold) {
  return RandomBits(key, element) >= threshold;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_DROPOUT_MASK_H_
