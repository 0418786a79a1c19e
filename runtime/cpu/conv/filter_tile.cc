#include "runtime/cpu/conv/filter_tile.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/shape.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/tile_sums.h"

namespace ashlar::cpu {
namespace {

constexpr int kLanes = static_cast<int>(kChannelBlock);

template <int kRows>
[[gnu::always_inline]] inline void Store(const float (&sums)[kRows][kLanes],
                                         const FilterTile& tile) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    StoreSums(sums[r], tile.add, tile.sums + r * kLanes);
  }
}

template <int kRows, bool kNeighbours>
void Tile(const FilterTile& tile) {
  float sums[kRows][kLanes];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma omp simd
    for (int l = 0; l < kLanes; ++l) sums[r][l] = 0.0f;
  }
  int64_t offsets[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) offsets[r] = kNeighbours ? r : tile.offsets[r];
  const int64_t src_step = tile.src_step.pixel, diff_step = tile.diff_step.pixel;
  for (int64_t n = 0; n < tile.images; ++n) {
    for (int64_t y = 0; y < tile.height; ++y) {
      const float* src = tile.src + n * tile.src_step.image + y * tile.src_step.row;
      const float* diff = tile.diff + n * tile.diff_step.image + y * tile.diff_step.row;
      for (int64_t x = tile.width; x > 0; --x) {
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const float value = src[kNeighbours ? r : offsets[r]];
#pragma omp simd
          for (int l = 0; l < kLanes; ++l) sums[r][l] += value * diff[l];
        }
        src += src_step, diff += diff_step;
      }
    }
  }
  Store(sums, tile);
}

void DepthwiseTile(const FilterTile& tile) {
  constexpr int kWays = 4;  // concurrent pixels, to hide the latency of an addition
  float sums[kWays][kLanes] = {};
  const int64_t src_step = tile.src_step.pixel, diff_step = tile.diff_step.pixel;
  for (int64_t n = 0; n < tile.images; ++n) {
    for (int64_t y = 0; y < tile.height; ++y) {
      const float* src = tile.src + n * tile.src_step.image + y * tile.src_step.row;
      const float* diff = tile.diff + n * tile.diff_step.image + y * tile.diff_step.row;
      int64_t x = tile.width;
      for (; x >= kWays; x -= kWays, src += kWays * src_step, diff += kWays * diff_step) {
#pragma GCC unroll 4
        for (int way = 0; way < kWays; ++way) {
#pragma omp simd
          for (int l = 0; l < kLanes; ++l) {
            sums[way][l] += src[way * src_step + l] * diff[way * diff_step + l];
          }
        }
      }
      for (; x > 0; --x, src += src_step, diff += diff_step) {
#pragma omp simd
        for (int l = 0; l < kLanes; ++l) sums[0][l] += src[l] * diff[l];
      }
    }
  }
  float all[1][kLanes];
#pragma omp simd
  for (int l = 0; l < kLanes; ++l)
    all[0][l] = (sums[0][l] + sums[1][l]) + (sums[2][l] + sums[3][l]);
  Store(all, tile);
}

// Rows of sums that fit in registers, besides vectors of diff and one of the image.
template <Isa kIsa>
constexpr int kTileRows = 2;
template <>
constexpr int kTileRows<Isa::kNeon> = 6;
template <>
constexpr int kTileRows<Isa::kAvx2> = 6;
template <>
constexpr int kTileRows<Isa::kAvx512> = kMostFilterTileRows;

template <Isa kIsa, bool kNeighbours, size_t... kIndices>
FilterTileFunction TileOf(int rows, std::index_sequence<kIndices...>) {
  static const std::array<FilterTileFunction, sizeof...(kIndices)> kTiles = {
      Versions<Tile<static_cast<int>(kIndices) + 1, kNeighbours>>::For(kIsa)...};
  return kTiles[static_cast<size_t>(rows - 1)];
}

template <Isa kIsa>
FilterTileFunction TileOf(int rows, bool neighbours) {
  constexpr auto kAll = std::make_index_sequence<kTileRows<kIsa>>();
  return neighbours ? TileOf<kIsa, true>(rows, kAll) : TileOf<kIsa, false>(rows, kAll);
}

}  // namespace

int FilterTileRows(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return kTileRows<Isa::kAvx512>;
    case Isa::kAvx2:
      return kTileRows<Isa::kAvx2>;
    case Isa::kNeon:
      return kTileRows<Isa::kNeon>;
    case Isa::kBaseline:
      break;
  }
  return kTileRows<Isa::kBaseline>;
}

FilterTileFunction FilterTileFor(Isa isa, int rows, bool neighbours) {
  switch (isa) {
    case Isa::kAvx512:
      return TileOf<Isa::kAvx512>(rows, neighbours);
    case Isa::kAvx2:
      return TileOf<Isa::kAvx2>(rows, neighbours);
    case Isa::kNeon:
      return TileOf<Isa::kNeon>(rows, neighbours);
    case Isa::kBaseline:
      break;
  }
  return TileOf<Isa::kBaseline>(rows, neighbours);
}

FilterTileFunction DepthwiseFilterTileFor(Isa isa) { return Versions<DepthwiseTile>::For(isa); }

}  // namespace ashlar::cpu
