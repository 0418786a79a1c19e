// The code of ConvTile, for any width of vectors. Included by one file per instruction set.
// Everything is in an unnamed namespace, so that the linker cannot share this code between these
// files.
#ifndef ASHLAR_RUNTIME_CPU_CONV_TILE_CODE_H_
#define ASHLAR_RUNTIME_CPU_CONV_TILE_CODE_H_

#include <utility>

#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/conv/vector_code.h"

namespace ashlar::cpu {
namespace {

// The code of one tile size, in vectors of kWidth floats. Registers must hold the sums of kPixels
// pixels by kBlocks blocks. With kVectors, only the first kVectors vectors of one block are
// computed; its other channels do not exist.
template <int kWidth, int kPixels, int kBlocks, int kVectors = kBlocks* kBlock / kWidth>
struct ConvTileRunner {
  using Base = Vectors<kWidth>;
  using Vector = typename Base::Vector;
  static constexpr int kOfBlock = kBlock / kWidth;
  using Sums = Vector[kPixels * kVectors];

  // Four pointers that reach 14 pixels, each scaled by 1, 2, 4 or 8, as addressing modes allow.
  struct Pixels {
    const char *at0, *at2, *at5, *at11;
    [[gnu::always_inline]] Pixels(const char* first, int64_t step)
        : at0(first), at2(first + 2 * step), at5(first + 5 * step), at11(first + 11 * step) {}
    [[gnu::always_inline]] void Advance(int64_t bytes) {
      at0 += bytes, at2 += bytes, at5 += bytes, at11 += bytes;
    }
    template <int kPixel>
    [[gnu::always_inline]] const char* At(int64_t step) const {
      constexpr int kBase[14] = {0, 0, 2, 2, 0, 5, 2, 5, 0, 5, 2, 11, 11, 5};
      constexpr int kFrom = kBase[kPixel];
      const char* base = kFrom == 0 ? at0 : kFrom == 2 ? at2 : kFrom == 5 ? at5 : at11;
      return base + (kPixel - kFrom) * step;
    }
  };

  // The pixels [first, last) of a tap. They are compile-time constants if the tap is inside the
  // image for all pixels, or for all except one or two at one end.
  struct SomePixels {
    int first, last;
    [[gnu::always_inline]] bool Has(int pixel) const { return pixel >= first && pixel < last; }
  };
  template <int kFirst, int kLast>
  struct ThesePixels {
    [[gnu::always_inline]] static constexpr bool Has(int pixel) {
      return pixel >= kFirst && pixel < kLast;
    }
  };
  template <typename Visit>
  [[gnu::always_inline]] static void WithPixels(int first, int last, const Visit& visit) {
    constexpr int kOne = kPixels > 1 ? 1 : 0, kTwo = kPixels > 2 ? 2 : kOne;
    if (first == 0 && last == kPixels) return visit(ThesePixels<0, kPixels>());
    if (first >= last) return;
    if (first == kOne && last == kPixels) return visit(ThesePixels<kOne, kPixels>());
    if (first == 0 && last == kPixels - kOne) return visit(ThesePixels<0, kPixels - kOne>());
    if (first == kTwo && last == kPixels) return visit(ThesePixels<kTwo, kPixels>());
    if (first == 0 && last == kPixels - kTwo) return visit(ThesePixels<0, kPixels - kTwo>());
    visit(SomePixels{first, last});
  }

  template <int kPixel = 0, typename These>
  [[gnu::always_inline]] static void AddPixels(const These& these, const Pixels& pixels,
                                               int64_t step, const Vector* weights, Sums& sums) {
    if constexpr (kPixel < kPixels) {
      if (these.Has(kPixel)) {
        const Vector value =
            Base::Broadcast(*reinterpret_cast<const float*>(pixels.template At<kPixel>(step)));
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[kPixel * kVectors + v] += value * weights[v];
      }
      AddPixels<kPixel + 1>(these, pixels, step, weights, sums);
    }
  }

  // Adds one tap: all lanes of a block, for these pixels.
  template <typename Weights, typename These>
  [[gnu::always_inline]] static void AddTap(const These& these, const ConvTile& tile,
                                            const char* src, int lanes, const char* weights,
                                            const char*& prefetch, Sums& sums) {
    const int64_t step = tile.pixel_step, lane_step = tile.lane_step;
    const int64_t prefetch_step = tile.prefetch_step;
    Pixels pixels(src, step);
    const char* from = weights;
    const char* next = prefetch;
    for (int lane = 0; lane < lanes; ++lane) {
      Vector of_lane[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) of_lane[v] = Weights::Load(from + v * Weights::kBytes);
      __builtin_prefetch(next, 0, 2);
      AddPixels(these, pixels, step, of_lane, sums);
      pixels.Advance(lane_step);
      from += kBlocks * kOfBlock * Weights::kBytes;
      next += prefetch_step;
    }
    prefetch = next;
  }

  static int CeilDiv(int a, int b) { return a <= 0 ? 0 : (a + b - 1) / b; }

  // Returns the offset of vector `v` of a pixel in an image.
  template <typename Format>
  [[gnu::always_inline]] static int64_t Offset(int v, int64_t block_step) {
    return v / kOfBlock * block_step + v % kOfBlock * Format::kBytes;
  }

  static void Begin(const ConvTile& tile, Sums& sums) {
    const char* const bias = reinterpret_cast<const char*>(tile.bias);
#pragma GCC unroll 14
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[p * kVectors + v] = bias == nullptr ? Vector{} : Base::Load(bias + v * Base::kBytes);
      }
    }
  }

  template <typename Format>
  [[gnu::always_inline]] static void Add(const char* image, int64_t pixel_step, int64_t block_step,
                                         Sums& sums) {
#pragma GCC unroll 14
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[p * kVectors + v] +=
            Format::Load(image + p * pixel_step + Offset<Format>(v, block_step));
      }
    }
  }

  // Stores the sums, and zeros in the channels of the last block that do not exist.
  template <typename Format>
  [[gnu::always_inline]] static void Store(const ConvTile& tile, const Sums& sums) {
    // Copies: otherwise the compiler assumes that each store may change the tile.
    char* const dst = tile.dst;
    const int64_t pixel_step = tile.dst_pixel_step, block_step = tile.dst_block_step;
    const int last_channels = tile.last_channels;
#pragma GCC unroll 14
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 4
      for (int v = 0; v < kBlocks * kOfBlock; ++v) {
        Format::Store(v < kVectors ? sums[p * kVectors + v] : Vector{},
                      dst + p * pixel_step + Offset<Format>(v, block_step));
      }
    }
    if (last_channels < kBlock - (kBlocks * kOfBlock - kVectors) * kWidth) {
      for (int p = 0; p < kPixels; ++p) {
        Format::ClearPadding(last_channels, dst + p * pixel_step + (kBlocks - 1) * block_step);
      }
    }
  }

  [[gnu::always_inline]] static void End(const ConvTile& tile, Sums& sums) {
    if (tile.z != nullptr) {
      WithFormat<kWidth>(
          tile.z_float, [&]<typename Format>() __attribute__((always_inline)) {
            Add<Format>(tile.z, tile.z_pixel_step, tile.z_block_step, sums);
          });
    }
    if (tile.sums != nullptr)
      Add<Base>(tile.sums, tile.sums_pixel_step, tile.sums_block_step, sums);
    Base::Finish(tile.finish, sums);
    WithFormat<kWidth>(
        tile.dst_float, [&]<typename Format>()
                            __attribute__((always_inline)) { Store<Format>(tile, sums); });
  }

  // Calls visit(input, weights, pixels) for each tap that is inside the image for at least one
  // pixel. `weights` advances by `weights_step` per tap.
  template <typename Visit>
  [[gnu::always_inline]] static void ForEachTap(const ConvTile& tile, const char* src_of_row,
                                                const char* weights, int64_t weights_step,
                                                const Visit& visit) {
    for (int row = 0; row < tile.rows; ++row) {
      const char* src = src_of_row;
      int column = tile.first_column;
      for (int tap = 0; tap < tile.columns; ++tap) {
        int first = 0, last = kPixels;
        if (tile.trim) {
          first = CeilDiv(-column, tile.stride);
          const int end = CeilDiv(tile.width - column, tile.stride);
          last = end < kPixels ? end : kPixels;
          column += tile.dilation;
        }
        WithPixels(
            first, last, [&](const auto& these) __attribute__((always_inline)) {
              visit(src, weights, these);
            });
        weights += weights_step;
        src += tile.column_step;
      }
      src_of_row += tile.row_step;
    }
  }

  // Prefetches one cache line for each pixel and block.
  [[gnu::always_inline]] static void FetchZ(const ConvTile& tile) {
    const char* const z = tile.z;
    const int64_t pixel_step = tile.z_pixel_step, block_step = tile.z_block_step;
#pragma GCC unroll 14
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
      for (int b = 0; b < kBlocks; ++b) {
        __builtin_prefetch(z + p * pixel_step + b * block_step);
      }
    }
  }

  static void Run(const ConvTile& tile) {
    Sums sums;
    Begin(tile, sums);
    if (tile.fetch_z) FetchZ(tile);
    if (tile.weights_float == StoredFloat::kBFloat16) {
      AddBlocks<BFloat16Vectors<kWidth>>(tile, sums);
    } else {
      AddBlocks<Base>(tile, sums);
    }
    End(tile, sums);
  }

  template <typename Weights>
  [[gnu::always_inline]] static void AddBlocks(const ConvTile& tile, Sums& sums) {
    const char* weights_of_block = tile.weights;
    const char* src_of_block = tile.src;
    const char* prefetch_of_block = tile.prefetch;
    const bool one_tap = tile.rows == 1 && tile.columns == 1 && !tile.trim;
    for (int block = 0; block < tile.blocks; ++block) {
      const char* prefetch = prefetch_of_block;
      const int lanes = block + 1 < tile.blocks ? tile.lanes : tile.last_lanes;
      if (one_tap) {
        AddTap<Weights>(ThesePixels<0, kPixels>(), tile, src_of_block, lanes, weights_of_block,
                        prefetch, sums);
      } else {
        ForEachTap(
            tile, src_of_block, weights_of_block, tile.lanes * kBlocks * kOfBlock * Weights::kBytes,
            [&](const char* src, const char* weights, const auto& these)
                __attribute__((always_inline)) {
                  AddTap<Weights>(these, tile, src, lanes, weights, prefetch, sums);
                });
      }
      prefetch_of_block += tile.prefetch_block_step;
      weights_of_block += tile.weights_block_step;
      src_of_block += tile.block_step;
    }
  }

  template <int kPixel = 0, typename These>
  [[gnu::always_inline]] static void AddOwnChannels(const These& these, const Pixels& pixels,
                                                    int64_t step, const Vector* weights,
                                                    Sums& sums) {
    if constexpr (kPixel < kPixels) {
      if (these.Has(kPixel)) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          sums[kPixel * kVectors + v] +=
              weights[v] * Base::Load(pixels.template At<kPixel>(step) + v * Base::kBytes);
        }
      }
      AddOwnChannels<kPixel + 1>(these, pixels, step, weights, sums);
    }
  }

  static void RunDepthwise(const ConvTile& tile) {
    static_assert(kBlocks == 1);
    Sums sums;
    Begin(tile, sums);
    if (tile.weights_float == StoredFloat::kBFloat16) {
      AddOwnTaps<BFloat16Vectors<kWidth>>(tile, sums);
    } else {
      AddOwnTaps<Base>(tile, sums);
    }
    End(tile, sums);
  }

  template <typename Weights>
  [[gnu::always_inline]] static void AddOwnTaps(const ConvTile& tile, Sums& sums) {
    const int64_t step = tile.pixel_step;
    ForEachTap(
        tile, tile.src, tile.weights, kOfBlock * Weights::kBytes,
        [&](const char* src, const char* weights, const auto& these)
            __attribute__((always_inline)) {
              Vector of_tap[kVectors];
#pragma GCC unroll 4
              for (int v = 0; v < kVectors; ++v) {
                of_tap[v] = Weights::Load(weights + v * Weights::kBytes);
              }
              AddOwnChannels(these, Pixels(src, step), step, of_tap, sums);
            });
  }
};

// A loop with enough independent sums to hide the latency of any processor.
template <int kWidth>
struct MultiplyAdd {
  using Base = Vectors<kWidth>;
  using Vector = typename Base::Vector;
  static constexpr int kSums = 12;
  static constexpr int kFlops = kSums * kWidth * 2;

  static float Run(int64_t rounds, float value) {
    const Vector factor = Base::Broadcast(0.5f), addend = Base::Broadcast(value);
    Vector sums[kSums];
    for (int i = 0; i < kSums; ++i) sums[i] = Base::Broadcast(value + static_cast<float>(i));
    for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
      for (int i = 0; i < kSums; ++i) sums[i] = sums[i] * factor + addend;
    }
    for (int i = 1; i < kSums; ++i) sums[0] += sums[i];
    return sums[0][0];
  }
};

// Adds tiles of 1 to kPixels pixels by `kBlocks` blocks.
template <int kWidth, int kBlocks, int... kPixels>
consteval void AddConvTiles(std::integer_sequence<int, kPixels...>, ConvTileCode& code) {
  ((code.run[kBlocks][kPixels + 1] = ConvTileRunner<kWidth, kPixels + 1, kBlocks>::Run), ...);
}

template <int kWidth, int... kPixels>
consteval void AddDepthwiseTiles(std::integer_sequence<int, kPixels...>, ConvTileCode& code) {
  ((code.depthwise[kPixels + 1] = ConvTileRunner<kWidth, kPixels + 1, 1>::RunDepthwise), ...);
}

// Vectors in half a block, if vectors are shorter than a block.
template <int kWidth>
constexpr int kHalfVectors = kBlock / kWidth / 2;

template <int kWidth, int... kPixels>
consteval void AddHalfTiles(std::integer_sequence<int, kPixels...>, ConvTileCode& code) {
  ((code.half[kPixels + 1] = ConvTileRunner<kWidth, kPixels + 1, 1, kHalfVectors<kWidth>>::Run),
   ...);
}

template <int kWidth, int... kPixels>
consteval void AddHalfDepthwiseTiles(std::integer_sequence<int, kPixels...>, ConvTileCode& code) {
  ((code.half_depthwise[kPixels + 1] =
        ConvTileRunner<kWidth, kPixels + 1, 1, kHalfVectors<kWidth>>::RunDepthwise),
   ...);
}

// Returns the code for vectors of kWidth floats, with registers for the sums of kPixels pixels by
// kBlocks blocks, or kDepthwise pixels if depthwise.
template <int kWidth, int kBlocks, int kPixels, int kDepthwise = kPixels>
consteval ConvTileCode MakeConvTileCode() {
  ConvTileCode code = {kBlocks, kPixels, kDepthwise, {}, {}, {}, {}, nullptr, 0};
  if constexpr (kRunsVectorsOf<kWidth>) {
    using Tiles = std::make_integer_sequence<int, kPixels>;
    AddConvTiles<kWidth, 1>(Tiles(), code);
    if constexpr (kBlocks == 2) AddConvTiles<kWidth, 2>(Tiles(), code);
    AddDepthwiseTiles<kWidth>(std::make_integer_sequence<int, kDepthwise>(), code);
    if constexpr (kHalfVectors < kWidth >> 0) {
      AddHalfTiles<kWidth>(std::make_integer_sequence<int, 2 * kPixels>(), code);
      AddHalfDepthwiseTiles<kWidth>(std::make_integer_sequence<int, 2 * kDepthwise>(), code);
    }
    code.multiply_add = MultiplyAdd<kWidth>::Run;
    code.multiply_add_flops = MultiplyAdd<kWidth>::kFlops;
  }
  return code;
}

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_TILE_CODE_H_
