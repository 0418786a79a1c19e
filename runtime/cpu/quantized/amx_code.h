// The innermost code of convolutions in AMX's tiles (amx.h), written with an engine T and the
// vectors V of an instruction set (vectors_256.h). T has static functions on tiles with constant
// numbers:
//   Configure(configuration), Release()
//   Load<kTile>(address, row_step), LoadOnce<kTile>: not to be kept in the cache
//   Store<kTile>(address, row_step)
//   Add<kSums, kPixels, kWeights, kSigned>()
//
// Included only by the files of engines, like tile_code.h.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_CODE_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_CODE_H_

#include "runtime/cpu/quantized/amx.h"
#include "runtime/cpu/quantized/tile_code.h"

namespace ashlar::cpu {
namespace {  // compiled for several engines

// The memory from which registers are configured; its layout is the instruction's.
struct AmxConfiguration {
  uint8_t palette = 1, start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(AmxConfiguration) == 64);

constexpr int kFirstPixels = kAmxTiles * kAmxPanels;  // numbers of tiles
constexpr int kFirstWeights = kFirstPixels + kAmxTiles;

inline AmxConfiguration ConfigurationOf(const AmxShape& shape) {
  AmxConfiguration result;
  const auto set = [&](int tile, int64_t rows, int64_t row_bytes) {
    result.rows[tile] = static_cast<uint8_t>(rows);
    result.row_bytes[tile] = static_cast<uint16_t>(row_bytes);
  };
  for (int i = 0; i < kFirstPixels; ++i) set(i, shape.rows, kAmxRowBytes);
  for (int i = kFirstPixels; i < kFirstWeights; ++i) set(i, shape.rows, shape.depth);
  for (int i = 0; i < kAmxPanels; ++i) {
    set(kFirstWeights + i, shape.depth / kDepth, kPanel * kDepth);
  }
  return result;
}

constexpr int64_t CeilDivideOf(int64_t value, int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// Pixels whose sums are rounded together: four vectors.
template <typename V>
inline constexpr int kVectorsOfPanel = static_cast<int>(kPanel) / V::kLanes;
template <typename V>
inline constexpr int kPixelsTogether = 4 / kVectorsOfPanel<V>;

// Stores `count` pieces of the pending sums, or as many as there are.
template <typename V, bool kAdds>
void StoreSome(AmxPending& pending, int64_t count) {
  constexpr int kVectors = kVectorsOfPanel<V>, kTogether = kPixelsTogether<V>;
  const int64_t of_panel = CeilDivideOf(pending.pixels, kTogether);
  const int64_t end = pending.next + count < pending.pieces ? pending.next + count : pending.pieces;
  const TileSum added = kAdds ? *pending.call.sum : TileSum();
  while (pending.next < end) {
    const int64_t panel = pending.next / of_panel, begin = pending.next - panel * of_panel;
    const int64_t last = end - panel * of_panel < of_panel ? end - panel * of_panel : of_panel;
    TileCall own = pending.call;
    own.channel += panel * kPanel;
    own.channels = own.channels - panel * kPanel < kPanel ? own.channels - panel * kPanel : kPanel;
    own.factors += panel * kPanel;
    const int32_t* const sums = pending.sums + panel * kAmxBlockRows * kPanel;
    const uint8_t* const rows = pending.rows;
    typename V::Lanes lanes[kVectors];
    for (int v = 0; v < kVectors; ++v) lanes[v] = V::LanesOf(own.channels - v * V::kLanes);
    for (int64_t piece = begin; piece < last; ++piece) {
      StoreFour<V, kAdds, kVectors>(
          static_cast<int>(piece * kTogether), static_cast<int>(pending.pixels), own, added,
          lanes, [&](int pixel, int v) __attribute__((always_inline)) {
            return V::Load(sums + rows[pixel] * kPanel + v * V::kLanes);
          });
    }
    pending.next = panel * of_panel + last;
  }
}

template <typename V>
void StoreSome(AmxPending& pending, int64_t count) {
  pending.call.sum != nullptr ? StoreSome<V, true>(pending, count)
                              : StoreSome<V, false>(pending, count);
}

// Computes the block of kTiles tiles from `tile` on by kPanels panels.
template <typename T, typename V, bool kSigned, int kTiles, int kPanels>
void RunBlock(const AmxCall& call, int64_t tile, AmxState& state) {
  constexpr auto kSums = [](int t, int p) { return t * static_cast<int>(kAmxPanels) + p; };
  ForEach<kTiles>([&](auto t) __attribute__((always_inline)) {
    ForEach<kPanels>([&](auto p) __attribute__((always_inline)) {
      T::template Load<kSums(t, p)>(call.start + p * kPanel, 0);
    });
  });
  const AmxPixels& pixels = *call.pixels;
  const int64_t panel_bytes = call.shape.depth * kPanel;
  const int8_t* weights = call.weights;
  const int8_t* ahead = tile == 0 ? call.ahead : nullptr;
  AmxPending& pending = state.pending;
  const int64_t pieces = CeilDivideOf(pending.pieces - pending.next, call.steps);
  for (int64_t step = 0; step < call.steps; ++step) {
    ForEach<kTiles>([&](auto t) __attribute__((always_inline)) {
      const uint8_t* const from = pixels.src[tile + t] + call.offsets[step];
      if (call.stream == AmxStream::kPixels) {
        T::template LoadOnce<kFirstPixels + t>(from, call.pixel_step);
      } else {
        T::template Load<kFirstPixels + t>(from, call.pixel_step);
      }
    });
    ForEach<kPanels>([&](auto p) __attribute__((always_inline)) {
      const int8_t* const from = weights + p * panel_bytes;
      if (call.stream == AmxStream::kWeights) {
        T::template LoadOnce<kFirstWeights + p>(from, kPanel * kDepth);
      } else {
        T::template Load<kFirstWeights + p>(from, kPanel * kDepth);
      }
      ForEach<kTiles>([&](auto t) __attribute__((always_inline)) {
        T::template Add<kSums(t, p), kFirstPixels + t, kFirstWeights + p, kSigned>();
      });
    });
    weights += kPanels * panel_bytes;
    if (ahead != nullptr) {
      for (int64_t i = 0; i < kPanels * panel_bytes; i += kLine) {
        __builtin_prefetch(ahead + i, /*rw=*/0, /*locality=*/2);
      }
      ahead += kPanels * panel_bytes;
    }
    if (pending.next < pending.pieces) StoreSome<V>(pending, pieces);
  }
  int32_t* const sums = state.sums[state.current];
  ForEach<kTiles>([&](auto t) __attribute__((always_inline)) {
    ForEach<kPanels>([&](auto p) __attribute__((always_inline)) {
      T::template Store<kSums(t, p)>(sums + (p * kAmxBlockRows + t * kAmxRows) * kPanel,
                                     kPanel * static_cast<int64_t>(sizeof(int32_t)));
    });
  });
  const int32_t first = pixels.begin[tile];
  pending.call.factors = call.factors;
  pending.call.rounding = call.rounding;
  pending.call.dst = pixels.dst + first;
  pending.call.sum = call.sum;
  pending.call.z = pixels.z + first;
  pending.call.channel = call.channel;
  pending.call.channels = call.channels;
  pending.rows = pixels.row + first;
  pending.sums = sums;
  pending.pixels = pixels.begin[tile + kTiles] - first;
  pending.next = 0;
  pending.pieces = kPanels * CeilDivideOf(pending.pixels, kPixelsTogether<V>);
  state.current ^= 1;
}

template <typename T, typename V, bool kSigned, int kPanels>
void RunBlocks(const AmxCall& call, AmxState& state) {
  int64_t tile = 0;
  for (; tile + 1 < call.pixels->tiles; tile += kAmxTiles) {
    RunBlock<T, V, kSigned, kAmxTiles, kPanels>(call, tile, state);
  }
  if (tile < call.pixels->tiles) RunBlock<T, V, kSigned, 1, kPanels>(call, tile, state);
}

template <typename T, typename V, bool kSigned>
void RunAmx(const AmxCall& call, AmxState& state) {
  call.channels > kPanel ? RunBlocks<T, V, kSigned, kAmxPanels>(call, state)
                         : RunBlocks<T, V, kSigned, 1>(call, state);
}

template <typename V>
void FinishAmx(AmxState& state) {
  StoreSome<V>(state.pending, state.pending.pieces);
}

template <typename T>
void ConfigureAmx(const AmxShape& shape) {
  const AmxConfiguration configuration = ConfigurationOf(shape);
  T::Configure(configuration);
}

template <typename T, typename V>
constexpr AmxCode MakeAmxCode(absl::Status (*request)()) {
  return {request,
          ConfigureAmx<T>,
          {RunAmx<T, V, false>, RunAmx<T, V, true>},
          FinishAmx<V>,
          T::Release};
}

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_CODE_H_
