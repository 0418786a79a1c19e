// The sums of a tile of registers, to memory.
#ifndef ASHLAR_RUNTIME_CPU_TILE_SUMS_H_
#define ASHLAR_RUNTIME_CPU_TILE_SUMS_H_

namespace ashlar::cpu {

// A row of the tile, added to what is there or in its place. Inlined, so that the compiler keeps
// the sums in registers.
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
