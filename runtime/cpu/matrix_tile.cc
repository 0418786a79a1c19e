#include "runtime/cpu/matrix_tile.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/tile_sums.h"

namespace ashlar::cpu {
namespace {

constexpr int kCacheLine = 16;  // in elements

// The compiler keeps `sums` in registers: kRows * kPanels * kPanel / lanes of them. Two or more
// registers remain for B and the element of A.
template <int kRows, int kPanel, int kPanels = 1>
void Tile(const MatrixTile& tile) {
  constexpr int kSums = kRows * kPanels;  // panels, by row
  float sums[kSums][kPanel];
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) {
#pragma omp simd
    for (int j = 0; j < kPanel; ++j) sums[i][j] = 0.0f;
  }
  // Many rows are addressed from two pointers, so that the multiples of the row step fit in
  // registers.
  constexpr int kUpper = kRows > 6 ? (kRows + 1) / 2 : kRows;
  const float *a = tile.a.data, *lower = a + kUpper * tile.a.row, *b = tile.b;
  const char* next = tile.prefetch;
  const int64_t a_row = tile.a.row, a_step = tile.a.column, b_row = tile.b_row;
  const int64_t b_panel = kPanels > 1 ? tile.b_panel : 0, step = tile.prefetch_step;
  int64_t k = tile.depth;
  do {
#pragma GCC unroll 4
    for (int p = 0; p < kPanels; ++p) {
      for (int j = 0; j < kPanel; j += kCacheLine) {
        __builtin_prefetch(next + 4 * (p * b_panel + j), 0, kPanels > 1 ? 3 : 2);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const float x = r < kUpper ? a[r * a_row] : lower[(r - kUpper) * a_row];
#pragma omp simd
        for (int j = 0; j < kPanel; ++j) sums[r * kPanels + p][j] += x * b[p * b_panel + j];
      }
    }
    a += a_step, lower += a_step, b += b_row, next += step;
  } while (--k > 0);
  float* c = tile.c;
#pragma GCC unroll 16
  for (int i = 0; i < kSums; ++i) {
    StoreSums(sums[i], tile.add, c + i % kPanels * kPanel);
    if (i % kPanels == kPanels - 1) c += tile.c_row;
  }
}

using Four = float __attribute__((vector_size(16)));

// Transposes four elements each of four contiguous columns.
[[gnu::always_inline]] inline void Transpose(const MatrixView& from, int64_t width, float* to) {
  // Columns may be unaligned.
  const auto column = [&](int j) {
    Four four;
    std::memcpy(&four, from.data + j * from.column, sizeof(four));
    return four;
  };
  const Four a = column(0), b = column(1), c = column(2), d = column(3);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const auto store = [&](int i, Four four) { std::memcpy(to + i * width, &four, sizeof(four)); };
  store(0, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  store(1, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  store(2, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  store(3, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

// Packs rows [first_row, rows) of columns [first, last), element by element.
void PackElements(const MatrixView& from, int64_t first_row, int64_t rows, int64_t first,
                  int64_t last, int64_t width, float* to) {
  for (int64_t i = first_row; i < rows; ++i) {
    const float* const row = from.data + i * from.row;
    for (int64_t j = first; j < last; ++j) to[i * width + j] = row[j * from.column];
  }
}

void PackRows(const MatrixView& from, int64_t rows, int64_t columns, int64_t width, float* to) {
  const float* row = from.data;
  for (int64_t i = 0; i < rows; ++i, row += from.row, to += width) {
    if (columns == width && width % kCacheLine == 0) {
      for (int64_t j = 0; j < width; j += kCacheLine) {
#pragma omp simd
        for (int l = 0; l < kCacheLine; ++l) to[j + l] = row[j + l];
      }
      continue;
    }
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) to[j] = j < columns ? row[j] : 0.0f;
  }
}

void PackPanel(const MatrixView& from, int64_t rows, int64_t columns, int64_t width, float* to) {
  if (from.column == 1) return PackRows(from, rows, columns, width, to);
  const bool fours = from.row == 1;
  const int64_t whole_rows = fours ? rows / 4 * 4 : 0, whole_columns = fours ? columns / 4 * 4 : 0;
  for (int64_t j = 0; j < whole_columns; j += 4) {
    for (int64_t i = 0; i < whole_rows; i += 4) Transpose(from.At(i, j), width, to + i * width + j);
  }
  PackElements(from, whole_rows, rows, 0, whole_columns, width, to);
  PackElements(from, 0, rows, whole_columns, columns, width, to);
  for (int64_t i = 0; i < rows; ++i)
    std::fill(to + i * width + columns, to + (i + 1) * width, 0.0f);
}

template <Isa kIsa>
constexpr MatrixTiling kTiling = {16, 2};
template <>
constexpr MatrixTiling kTiling<Isa::kNeon> = {16, 6};
template <>
constexpr MatrixTiling kTiling<Isa::kAvx2> = {16, 6};
template <>
constexpr MatrixTiling kTiling<Isa::kAvx512> = {kWidestPanel, kMostTileRows};

constexpr int kMostPanels = 4;

// Returns the number of panels that gives as many sums as a tile with all rows.
template <Isa kIsa>
constexpr int PanelsFor(int rows) {
  return std::clamp(static_cast<int>(kTiling<kIsa>.max_rows) / rows, 1, kMostPanels);
}

enum class Width { kHalf, kPanel, kPanels };

template <Isa kIsa, Width kWidth, size_t... kIndices>
MatrixTileFunction TileOf(int64_t rows, std::index_sequence<kIndices...>) {
  constexpr int kPanel = static_cast<int>(kTiling<kIsa>.panel) / (kWidth == Width::kHalf ? 2 : 1);
  constexpr bool kWide = kWidth == Width::kPanels;
  static const std::array<MatrixTileFunction, sizeof...(kIndices)> kTiles = {
      Versions<Tile<static_cast<int>(kIndices) + 1, kPanel,
                    kWide ? PanelsFor<kIsa>(static_cast<int>(kIndices) + 1) : 1>>::For(kIsa)...};
  return kTiles[rows - 1];
}

template <Isa kIsa, Width kWidth>
MatrixTileFunction TileOf(int64_t rows) {
  return TileOf<kIsa, kWidth>(rows, std::make_index_sequence<kTiling<kIsa>.max_rows>());
}

// Returns make(constant), with the instruction set as a std::integral_constant.
template <typename Make>
auto AsConstant(Isa isa, const Make& make) {
  if (isa == Isa::kAvx512) return make(std::integral_constant<Isa, Isa::kAvx512>());
  if (isa == Isa::kAvx2) return make(std::integral_constant<Isa, Isa::kAvx2>());
  if (isa == Isa::kNeon) return make(std::integral_constant<Isa, Isa::kNeon>());
  return make(std::integral_constant<Isa, Isa::kBaseline>());
}

}  // namespace

MatrixTiling MatrixTilingFor(Isa isa) {
  return AsConstant(isa, [](auto constant) { return kTiling<constant()>; });
}

MatrixTileFunction MatrixTileFor(Isa isa, int64_t rows) {
  return AsConstant(isa, [rows](auto constant) { return TileOf<constant(), Width::kPanel>(rows); });
}

MatrixTileFunction HalfMatrixTileFor(Isa isa, int64_t rows) {
  return AsConstant(isa, [rows](auto constant) { return TileOf<constant(), Width::kHalf>(rows); });
}

WideMatrixTile WideMatrixTileFor(Isa isa, int64_t rows) {
  return AsConstant(isa, [rows](auto constant) {
    return WideMatrixTile{PanelsFor<constant()>(static_cast<int>(rows)),
                          TileOf<constant(), Width::kPanels>(rows)};
  });
}

PackPanelFunction PackPanelFor(Isa isa) { return Versions<PackPanel>::For(isa); }

}  // namespace ashlar::cpu
