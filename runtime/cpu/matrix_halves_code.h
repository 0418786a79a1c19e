// The inner loop of matrix products with few rows, limited by the time to read B. The
// 16-bit floats are widened in registers. Products are added in the same order, and fused by the
// compiler in the same way, as in matrix_tile.cc. Included only by the files of instruction sets.
#ifndef ASHLAR_RUNTIME_CPU_MATRIX_HALVES_CODE_H_
#define ASHLAR_RUNTIME_CPU_MATRIX_HALVES_CODE_H_

#include "runtime/cpu/float16_vectors.h"
#include "runtime/cpu/matrix_halves.h"

namespace ashlar::cpu {
namespace {

// Vectors have kWidth floats; a panel has two of them.
template <template <int> typename Format, int kWidth, int kRows, int kPanels>
void HalvesTile(const MatrixTile& tile) {
  using Vector = typename VectorOf<kWidth>::Type;
  using Unaligned = typename VectorOf<kWidth>::Unaligned;
  using Halves = Format<kWidth>;
  constexpr int kOfPanel = 2, kSums = kPanels * kOfPanel;
  Vector sums[kRows][kSums];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) sums[r][i] = Vector{};
  }
  const char* b = reinterpret_cast<const char*>(tile.b);
  const float* a = tile.a.data;
  for (int64_t k = 0; k < tile.depth; ++k, a += tile.a.column, b += 2 * tile.b_row) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) {
      const Vector wide =
          Halves::Load(b + 2 * (i / kOfPanel * tile.b_panel) + i % kOfPanel * Halves::kBytes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r][i] += a[r * tile.a.row] * wide;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) {
      Unaligned* const c = reinterpret_cast<Unaligned*>(tile.c + r * tile.c_row + i * kWidth);
      *c = tile.add ? *c + sums[r][i] : sums[r][i];
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MATRIX_HALVES_CODE_H_
