// Stores the sums of a tile from registers to memory.
#ifndef ASHLAR_RUNTIME_CPU_TILE_SUMS_H_
#define ASHLAR_RUNTIME_CPU_TILE_SUMS_H_

namespace ashlar::cpu {

// Stores a row of the tile, or adds it to memory if `add`. Inlined, so that the compiler keeps the
// sums in registers.
template <int kLanes>
[[gnu::always_inline]] inline void StoreSums(const float (&sums)[kLanes], bool add, float* to) {
  if (add) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) to[l] += sums[l];
  } else {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) to[l] = sums[l];
  }
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_TILE_SUMS_H_
