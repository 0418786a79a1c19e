#include "runtime/cpu/matrix_tile.h"

#include <array>
#include <type_traits>
#include <utility>

#include "runtime/cpu/isa.h"

namespace ashlar::cpu {
namespace {

constexpr int kWidestPanel = 32;
constexpr int kCacheLine = 16;    // elements
constexpr int64_t kAhead = 1024;  // elements of B between what is used and what is fetched

// The compiler keeps `sums` in registers: there are kRows * kPanel / lanes of them, and two or more
// are left for B and for the element of A.
template <int kRows, int kPanel>
void Tile(const float* a, int64_t a_pitch, const float* b, int64_t depth, float* c,
          int64_t c_pitch) {
  float sums[kRows][kPanel] = {};
  for (int64_t k = 0; k < depth; ++k, b += kPanel) {
    // B most often comes from memory. Behind its end nothing is read.
    for (int j = 0; j < kPanel; j += kCacheLine) __builtin_prefetch(b + kAhead + j);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const float x = a[r * a_pitch + k];
#pragma omp simd
      for (int j = 0; j < kPanel; ++j) sums[r][j] += x * b[j];
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma omp simd
    for (int j = 0; j < kPanel; ++j) c[r * c_pitch + j] += sums[r][j];
  }
}

void NarrowTile(const float* a, int64_t a_pitch, int64_t rows, const float* b, int64_t depth,
                int64_t columns, float* c, int64_t c_pitch) {
  for (int64_t r = 0; r < rows; ++r) {
    float sums[kWidestPanel] = {};
    for (int64_t k = 0; k < depth; ++k) {
      const float x = a[r * a_pitch + k];
#pragma omp simd
      for (int64_t j = 0; j < columns; ++j) sums[j] += x * b[k * columns + j];
    }
    for (int64_t j = 0; j < columns; ++j) c[r * c_pitch + j] += sums[j];
  }
}

template <Isa kIsa>
constexpr MatrixTiling kTiling = {16, 2};
template <>
constexpr MatrixTiling kTiling<Isa::kAvx2> = {16, 6};
template <>
constexpr MatrixTiling kTiling<Isa::kAvx512> = {kWidestPanel, 12};

template <Isa kIsa, size_t... kIndices>
MatrixTileFunction TileOf(int64_t rows, std::index_sequence<kIndices...>) {
  static const std::array<MatrixTileFunction, sizeof...(kIndices)> kTiles = {
      Versions<Tile<static_cast<int>(kIndices) + 1, static_cast<int>(kTiling<kIsa>.panel)>>::For(
          kIsa)...};
  return kTiles[rows - 1];
}

template <Isa kIsa>
MatrixTileFunction TileOf(int64_t rows) {
  return TileOf<kIsa>(rows, std::make_index_sequence<kTiling<kIsa>.max_rows>());
}

// What `make` returns for the instruction set, which it gets as a std::integral_constant.
template <typename Make>
auto AsConstant(Isa isa, const Make& make) {
  if (isa == Isa::kAvx512) return make(std::integral_constant<Isa, Isa::kAvx512>());
  if (isa == Isa::kAvx2) return make(std::integral_constant<Isa, Isa::kAvx2>());
  return make(std::integral_constant<Isa, Isa::kBaseline>());
}

}  // namespace

MatrixTiling MatrixTilingFor(Isa isa) {
  return AsConstant(isa, [](auto constant) { return kTiling<constant()>; });
}

MatrixTileFunction MatrixTileFor(Isa isa, int64_t rows) {
  return AsConstant(isa, [rows](auto constant) { return TileOf<constant()>(rows); });
}

NarrowMatrixTileFunction NarrowMatrixTileFor(Isa isa) { return Versions<NarrowTile>::For(isa); }

}  // namespace ashlar::cpu
