// Half a block of channels as a vector, for loops that are compiled for several instruction sets
// (runtime/cpu/isa.h).
#ifndef ASHLAR_RUNTIME_CPU_HALF_BLOCK_H_
#define ASHLAR_RUNTIME_CPU_HALF_BLOCK_H_

#include <cstdint>

#include "graph/shape.h"

namespace ashlar::cpu {

inline constexpr int kHalf = static_cast<int>(kChannelBlock) / 2;
// May lie at any address. Only inlined functions may take or return these vectors.
using Half = float __attribute__((vector_size(kHalf * sizeof(float)), aligned(4), may_alias));
using HalfOfIntegers = int32_t __attribute__((vector_size(kHalf * sizeof(int32_t))));

[[gnu::always_inline]] inline const Half& At(const float* from) {
  return *reinterpret_cast<const Half*>(from);
}
[[gnu::always_inline]] inline Half& At(float* to) { return *reinterpret_cast<Half*>(to); }

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_HALF_BLOCK_H_
