// The inner loop of matrix products of few rows, whose time is that of reading B: Float16 is
// widened in registers. Products are summed in the order of matrix_tile.cc.
#include <array>
#include <utility>

#include "runtime/cpu/matrix_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ashlar::cpu {
namespace {

#if defined(__x86_64__)

constexpr int kRegisters = 2;  // of a panel

template <int kRows, int kPanels>
[[gnu::target("avx512f")]] void Avx512Tile(const MatrixTile& tile) {
  constexpr int kLanes = 16;
  __m512 sums[kRows][kPanels * kRegisters];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanels * kRegisters; ++i) sums[r][i] = _mm512_setzero_ps();
  }
  const auto* b = reinterpret_cast<const uint16_t*>(tile.b);
  const float* a = tile.a.data;
  for (int64_t k = 0; k < tile.depth; ++k, a += tile.a.column, b += tile.b_row) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanels * kRegisters; ++i) {
      const uint16_t* const at = b + i / kRegisters * tile.b_panel + i % kRegisters * kLanes;
      const __m512 wide =
          _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        sums[r][i] += _mm512_set1_ps(a[r * tile.a.row]) * wide;
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanels * kRegisters; ++i) {
      float* const c = tile.c + r * tile.c_row + i * kLanes;
      _mm512_storeu_ps(c, tile.add ? _mm512_add_ps(_mm512_loadu_ps(c), sums[r][i]) : sums[r][i]);
    }
  }
}

template <int kRows, int kPanels>
[[gnu::target("avx2,fma,f16c")]] void Avx2Tile(const MatrixTile& tile) {
  constexpr int kLanes = 8;
  __m256 sums[kRows][kPanels * kRegisters];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanels * kRegisters; ++i) sums[r][i] = _mm256_setzero_ps();
  }
  const auto* b = reinterpret_cast<const uint16_t*>(tile.b);
  const float* a = tile.a.data;
  for (int64_t k = 0; k < tile.depth; ++k, a += tile.a.column, b += tile.b_row) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanels * kRegisters; ++i) {
      const uint16_t* const at = b + i / kRegisters * tile.b_panel + i % kRegisters * kLanes;
      const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        sums[r][i] += _mm256_set1_ps(a[r * tile.a.row]) * wide;
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kPanels * kRegisters; ++i) {
      float* const c = tile.c + r * tile.c_row + i * kLanes;
      _mm256_storeu_ps(c, tile.add ? _mm256_add_ps(_mm256_loadu_ps(c), sums[r][i]) : sums[r][i]);
    }
  }
}

#endif

}  // namespace

// As many panels as WideMatrixTileFor has.
MatrixTileFunction WideHalvesTileFor([[maybe_unused]] Isa isa, [[maybe_unused]] int64_t rows) {
#if defined(__x86_64__)
  static constexpr std::array<MatrixTileFunction, 7> kAvx512 = {
      nullptr,          Avx512Tile<1, 4>, Avx512Tile<2, 4>, Avx512Tile<3, 4>,
      Avx512Tile<4, 3>, Avx512Tile<5, 2>, Avx512Tile<6, 2>};
  static constexpr std::array<MatrixTileFunction, 4> kAvx2 = {nullptr, Avx2Tile<1, 4>,
                                                              Avx2Tile<2, 3>, Avx2Tile<3, 2>};
  const auto row = static_cast<size_t>(rows);
  if (isa == Isa::kAvx512 && row < kAvx512.size()) return kAvx512[row];
  if (isa == Isa::kAvx2 && row < kAvx2.size()) return kAvx2[row];
#endif
  return nullptr;
}

}  // namespace ashlar::cpu
