// The innermost code of products in AMX's tiles (tiles.h), written with an engine T and the vectors
// V of an instruction set (quantized/vectors_256.h for bytes, conv/vector_code.h for floats). T has
// static functions on tiles with constant numbers:
//   Configure(configuration), Release()
//   Load<kTile>(address, row_step), LoadOnce<kTile>: not to be kept in the cache
//   Store<kTile>(address, row_step)
//   Add<kSums, kPixels, kWeights, kProduct>()
//
// Included only by the files of engines, like quantized/tile_code.h.
#ifndef ASHLAR_RUNTIME_CPU_AMX_TILES_CODE_H_
#define ASHLAR_RUNTIME_CPU_AMX_TILES_CODE_H_

#include "runtime/cpu/amx/tiles.h"
#include "runtime/cpu/conv/vector_code.h"
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

enum class AmxProduct { kUnsignedBytes, kSignedBytes, kBFloat16 };

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

template <typename V>
int64_t PiecesOf(const AmxPending<AmxBytes>& pending) {
  return CeilDivideOf(pending.pixels, kPixelsTogether<V>);
}
template <typename V>
int64_t PiecesOf(const AmxPending<AmxFloats>& pending) {
  return pending.pixels;
}

// Stores pieces [begin, end) of the sums of a panel.
template <typename V, bool kAdds>
void StorePieces(const AmxPending<AmxBytes>& pending, int64_t panel, int64_t begin, int64_t end) {
  constexpr int kVectors = kVectorsOfPanel<V>, kTogether = kPixelsTogether<V>;
  const TileSum added = kAdds ? *pending.results.sum : TileSum();
  const int64_t rest = pending.channels - panel * kPanel;
  TileCall own = {};
  own.channel = pending.channel + panel * kPanel;
  own.channels = rest < kPanel ? rest : kPanel;
  own.factors = pending.results.factors + panel * kPanel;
  own.rounding = pending.results.rounding;
  own.dst = pending.dst;
  own.z = pending.z;
  const int32_t* const sums = pending.sums + panel * kAmxBlockRows * kPanel;
  const uint8_t* const rows = pending.rows;
  typename V::Lanes lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) lanes[v] = V::LanesOf(own.channels - v * V::kLanes);
  for (int64_t piece = begin; piece < end; ++piece) {
    StoreFour<V, kAdds, kVectors>(
        static_cast<int>(piece * kTogether), static_cast<int>(pending.pixels), own, added,
        lanes, [&](int pixel, int v) __attribute__((always_inline)) {
          return V::Load(sums + rows[pixel] * kPanel + v * V::kLanes);
        });
  }
}

template <typename V>
void StorePieces(const AmxPending<AmxBytes>& pending, int64_t panel, int64_t begin, int64_t end) {
  pending.results.sum != nullptr ? StorePieces<V, true>(pending, panel, begin, end)
                                 : StorePieces<V, false>(pending, panel, begin, end);
}

// The same for floats, of which each pixel is a piece.
template <typename V>
void StorePieces(const AmxPending<AmxFloats>& pending, int64_t panel, int64_t begin, int64_t end) {
  constexpr int kLanes = V::kBytes / static_cast<int>(sizeof(float));
  constexpr int kVectors = static_cast<int>(kPanel) / kLanes;
  constexpr int64_t kStored = kPanel * 2;  // bytes
  using Stored = BFloat16Vectors<kLanes>;
  const AmxFloats own = pending.results;
  const int64_t rest = pending.channels - panel * kPanel;
  const int channels = static_cast<int>(rest < kPanel ? rest : kPanel);
  const int64_t index = pending.channel / kPanel + panel;
  const int32_t* const sums = pending.sums + panel * kAmxBlockRows * kPanel;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    const char* const from = reinterpret_cast<const char*>(sums + pending.rows[pixel] * kPanel);
    typename V::Vector values[kVectors];
    for (int v = 0; v < kVectors; ++v) values[v] = V::Load(from + v * V::kBytes);
    if (own.adds) {
      const char* const z =
          reinterpret_cast<const char*>(pending.z[pixel] + index * own.z_panel_step);
      for (int v = 0; v < kVectors; ++v) values[v] += Stored::Load(z + v * Stored::kBytes);
    }
    V::Finish(own.finish, values);
    if (own.behind != nullptr) {
      alignas(64) char block[kPanel * sizeof(float)];
      for (int v = 0; v < kVectors; ++v) V::Store(values[v], block + v * V::kBytes);
      own.behind(*own.activation, block, channels);
      for (int v = 0; v < kVectors; ++v) values[v] = V::Load(block + v * V::kBytes);
    }
    char* const to = reinterpret_cast<char*>(pending.dst[pixel] + index * own.panel_step);
    if (channels == kPanel) {
      for (int v = 0; v < kVectors; ++v) Stored::Store(values[v], to + v * Stored::kBytes);
      continue;
    }
    char block[kStored];
    for (int v = 0; v < kVectors; ++v) Stored::Store(values[v], block + v * Stored::kBytes);
    Stored::ClearPadding(channels, block);
    __builtin_memcpy(to, block, static_cast<size_t>(own.padded ? kStored : 2 * channels));
  }
}

// Stores `count` pieces of the pending sums, or as many as there are.
template <typename V, typename Results>
void StoreSome(AmxPending<Results>& pending, int64_t count) {
  const int64_t of_panel = PiecesOf<V>(pending);
  const int64_t end = pending.next + count < pending.pieces ? pending.next + count : pending.pieces;
  while (pending.next < end) {
    const int64_t panel = pending.next / of_panel, begin = pending.next - panel * of_panel;
    const int64_t last = end - panel * of_panel < of_panel ? end - panel * of_panel : of_panel;
    StorePieces<V>(pending, panel, begin, last);
    pending.next = panel * of_panel + last;
  }
}

// Names the sums of `tiles` tiles from `tile` on as the next to be stored.
template <typename V, int kPanels, typename Results>
void SetPending(const AmxCall<Results>& call, int64_t tile, int64_t tiles, const int32_t* sums,
                AmxPending<Results>& pending) {
  const AmxPixels& pixels = *call.pixels;
  const int32_t first = pixels.begin[tile];
  pending.results = call.results;
  pending.channel = call.channel;
  pending.channels = call.channels;
  pending.dst = pixels.dst + first;
  pending.z = pixels.z + first;
  pending.rows = pixels.row + first;
  pending.sums = sums;
  pending.pixels = pixels.begin[tile + tiles] - first;
  pending.next = 0;
  pending.pieces = kPanels * PiecesOf<V>(pending);
}

// Computes the block of kTiles tiles from `tile` on by kPanels panels.
template <typename T, typename V, AmxProduct kProduct, int kTiles, int kPanels, typename Results>
void RunBlock(const AmxCall<Results>& call, int64_t tile, AmxState<Results>& state) {
  constexpr auto kSums = [](int t, int p) { return t * static_cast<int>(kAmxPanels) + p; };
  ForEach<kTiles>([&](auto t) __attribute__((always_inline)) {
    ForEach<kPanels>([&](auto p) __attribute__((always_inline)) {
      T::template Load<kSums(t, p)>(
          static_cast<const char*>(call.start) + p * kPanel * sizeof(int32_t), 0);
    });
  });
  const AmxPixels& pixels = *call.pixels;
  const int64_t panel_bytes = call.shape.depth * kPanel;
  const char* weights = call.weights;
  const char* ahead = tile == 0 ? call.ahead : nullptr;
  AmxPending<Results>& pending = state.pending;
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
      const char* const from = weights + p * panel_bytes;
      if (call.stream == AmxStream::kWeights) {
        T::template LoadOnce<kFirstWeights + p>(from, kPanel * kDepth);
      } else {
        T::template Load<kFirstWeights + p>(from, kPanel * kDepth);
      }
      ForEach<kTiles>([&](auto t) __attribute__((always_inline)) {
        T::template Add<kSums(t, p), kFirstPixels + t, kFirstWeights + p, kProduct>();
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
  SetPending<V, kPanels>(call, tile, kTiles, sums, pending);
  state.current ^= 1;
}

template <typename T, typename V, AmxProduct kProduct, int kPanels, typename Results>
void RunBlocks(const AmxCall<Results>& call, AmxState<Results>& state) {
  int64_t tile = 0;
  for (; tile + 1 < call.pixels->tiles; tile += kAmxTiles) {
    RunBlock<T, V, kProduct, kAmxTiles, kPanels>(call, tile, state);
  }
  if (tile < call.pixels->tiles) RunBlock<T, V, kProduct, 1, kPanels>(call, tile, state);
}

template <typename T, typename V, AmxProduct kProduct, typename Results>
void RunAmx(const AmxCall<Results>& call, AmxState<Results>& state) {
  call.channels > kPanel ? RunBlocks<T, V, kProduct, kAmxPanels>(call, state)
                         : RunBlocks<T, V, kProduct, 1>(call, state);
}

template <typename V, typename Results>
void FinishAmx(AmxState<Results>& state) {
  StoreSome<V>(state.pending, state.pending.pieces);
}

template <typename T>
void ConfigureAmx(const AmxShape& shape) {
  const AmxConfiguration configuration = ConfigurationOf(shape);
  T::Configure(configuration);
}

template <typename T, typename Bytes, typename Floats>
constexpr AmxCode MakeAmxCode(Isa isa, absl::Status (*request)()) {
  using enum AmxProduct;
  return {isa,
          request,
          ConfigureAmx<T>,
          T::Release,
          {{RunAmx<T, Bytes, kUnsignedBytes, AmxBytes>, RunAmx<T, Bytes, kSignedBytes, AmxBytes>},
           FinishAmx<Bytes, AmxBytes>},
          {{RunAmx<T, Floats, kBFloat16, AmxFloats>, nullptr}, FinishAmx<Floats, AmxFloats>}};
}

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_AMX_TILES_CODE_H_
