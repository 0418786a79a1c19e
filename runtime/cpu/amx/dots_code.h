// The innermost code of products of BFloat16 without tiles, by an instruction that adds two
// products to each of 16 sums (AVX512_BF16's VDPBF16PS). It takes the calls of tiles.h: the same
// pixels, packed weights and results.
//
// A group of up to 12 pixels by two panels of 16 channels keeps its sums in registers over all
// steps: 24 sums, two vectors of weights and a pair of 32. A pair of channels of a pixel is read
// once for both panels, and a pair of weights once for all pixels of the group.
//
// An engine D has static functions on 16 Float32: Load, Store, Broadcast, LoadHalves and
// StoreHalves of BFloat16, Sum, and Bound, which keeps NaN; LoadWeights of 16 pairs, Repeat of one
// pair, and Add(sums, pair, weights), which adds the product of the odd elements to the sum, then
// the product of the even ones, each fused.
#ifndef ASHLAR_RUNTIME_CPU_AMX_DOTS_CODE_H_
#define ASHLAR_RUNTIME_CPU_AMX_DOTS_CODE_H_

#include <limits>

#include "runtime/cpu/amx/tiles_code.h"

namespace ashlar::cpu {
namespace {  // compiled for several engines

constexpr int kMostRows = static_cast<int>(kDotRows);

// A share of the weights of the next block, which a group prefetches: so many bytes of each step.
struct WeightsAhead {
  const char* from = nullptr;
  int64_t bytes = 0;
};

// The places of a group's results, by panel and pixel, if they are stored from registers.
struct DotPlaces {
  uint8_t* to[kAmxPanels][kMostRows];
  const uint8_t* z[kAmxPanels][kMostRows];  // if a tensor is added
  bool adds;
  float least, most;  // bounds of results
};

// Groups of at least so many pixels store from registers; smaller ones are rare.
constexpr int kLeastStored = 11;

// Adds, bounds, rounds and stores the sums of a group.
template <typename D, int kRows, int kPanels>
[[gnu::always_inline]] inline void StoreGroup(const DotPlaces& places,
                                              const typename D::Vector (&total)[kRows][kPanels]) {
  const auto least = D::Broadcast(places.least), most = D::Broadcast(places.most);
  const auto store = [&](bool adds) __attribute__((always_inline)) {
    for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        auto value = total[r][p];
        if (adds) value = D::Sum(value, D::LoadHalves(places.z[p][r]));
        D::StoreHalves(D::Bound(value, least, most), places.to[p][r]);
      }
    }
  };
  places.adds ? store(true) : store(false);
}

// Sums kRows pixels from `src` on, for kPanels panels. Stores results to `places`; if there are
// none, the sums from row 0 of `sums` on.
template <typename D, int kRows, int kPanels>
void SumGroup(const AmxCall<AmxFloats>& call, const uint8_t* src, WeightsAhead ahead,
              const DotPlaces* places, int32_t* sums) {
  typename D::Vector total[kRows][kPanels];
  const auto* const start = static_cast<const char*>(call.start);
  for (int p = 0; p < kPanels; ++p) {
    const auto first = D::Load(start + p * kPanel * static_cast<int64_t>(sizeof(float)));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) total[r][p] = first;
  }
  const int64_t panel_bytes = call.shape.depth * kPanel, row = call.pixel_step;
  const int64_t rows = 3 * row;  // few address registers: each serves three pixels
  const char* weights = call.weights;
  for (int64_t step = 0; step < call.steps; ++step) {
    const uint8_t* from[(kRows + 2) / 3];
#pragma GCC unroll 8
    for (int i = 0; i < (kRows + 2) / 3; ++i) from[i] = src + call.offsets[step] + i * rows;
    for (int64_t byte = 0; byte < call.shape.depth; byte += kDepth) {
      typename D::Weights w[kPanels];
      for (int p = 0; p < kPanels; ++p) w[p] = D::LoadWeights(weights + p * panel_bytes);
      weights += kPanel * kDepth;
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const auto pair = D::Repeat(from[r / 3] + r % 3 * row + byte);
        for (int p = 0; p < kPanels; ++p) total[r][p] = D::Add(total[r][p], pair, w[p]);
      }
    }
    weights += (kPanels - 1) * panel_bytes;
    for (int64_t byte = 0; byte < ahead.bytes; byte += kLine) {
      __builtin_prefetch(ahead.from + byte, /*rw=*/0, /*locality=*/2);
    }
    ahead.from += kPanels * panel_bytes;
  }
  if constexpr (kRows >= kLeastStored) {
    if (places != nullptr) return StoreGroup<D>(*places, total);
  }
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      D::Store(total[r][p], sums + (p * kAmxBlockRows + r) * kPanel);
    }
  }
}

template <typename D, int kPanels, int kRows = kMostRows>
void SumRows(const AmxCall<AmxFloats>& call, int64_t rows, const uint8_t* src, WeightsAhead ahead,
             const DotPlaces* places, int32_t* sums) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return SumGroup<D, kRows, kPanels>(call, src, ahead, places, sums);
    SumRows<D, kPanels, kRows - 1>(call, rows, src, ahead, places, sums);
  }
}

// Returns whether results can be bounds of the sums, and sets them.
bool AreBounded(const AmxFloats& results, DotPlaces& places) {
  const float* const parameters = results.finish.parameters;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (results.finish.function) {
    case ScalarFunction::kIdentity:
      places.least = -kInfinity, places.most = kInfinity;
      break;
    case ScalarFunction::kRelu:
      places.least = 0, places.most = kInfinity;
      break;
    case ScalarFunction::kClamp:
      places.least = parameters[0], places.most = parameters[1];
      break;
    default:
      return false;
  }
  places.adds = results.adds;
  return results.behind == nullptr;
}

// Finds the places of a tile's results. Pixels without results go to `nowhere`.
template <int kPanels>
void FindPlaces(const AmxCall<AmxFloats>& call, int64_t tile, uint8_t* nowhere, DotPlaces& places) {
  const AmxPixels& pixels = *call.pixels;
  const int64_t first = tile % kAmxTiles * kAmxRows;
  for (int p = 0; p < kPanels; ++p) {
    const int64_t panel = call.channel / kPanel + p;
    for (int r = 0; r < kMostRows; ++r) places.to[p][r] = nowhere, places.z[p][r] = nowhere;
    for (int32_t i = pixels.begin[tile]; i < pixels.begin[tile + 1]; ++i) {
      const int64_t row = pixels.row[i] - first;
      places.to[p][row] = pixels.dst[i] + panel * call.results.panel_step;
      if (places.adds) places.z[p][row] = pixels.z[i] + panel * call.results.z_panel_step;
    }
  }
}

// Computes and stores the blocks of one tile of pixels each.
template <typename D, typename V, int kPanels>
void RunDots(const AmxCall<AmxFloats>& call, AmxState<AmxFloats>& state) {
  const AmxPixels& pixels = *call.pixels;
  // Each tile prefetches as much of every step.
  const int64_t step_bytes = call.ahead == nullptr ? 0 : kPanels * call.shape.depth * kPanel;
  const int64_t share = CeilDivideOf(CeilDivideOf(step_bytes, pixels.tiles), kLine) * kLine;
  int64_t fetched = 0;
  alignas(64) uint8_t nowhere[2 * kPanel] = {};
  DotPlaces places;
  const bool bounded = call.shape.rows >= kLeastStored && call.channels >= kPanels * kPanel &&
                       AreBounded(call.results, places);
  for (int64_t tile = 0; tile < pixels.tiles; ++tile) {
    int32_t* const sums = state.sums[0];
    const int64_t more = fetched + share < step_bytes ? share : step_bytes - fetched;
    if (bounded) FindPlaces<kPanels>(call, tile, nowhere, places);
    SumRows<D, kPanels>(call, call.shape.rows, pixels.src[tile], {call.ahead + fetched, more},
                        bounded ? &places : nullptr, sums + tile % kAmxTiles * kAmxRows * kPanel);
    fetched += more;
    if (bounded) continue;
    SetPending<V, kPanels>(call, tile, 1, sums, state.pending);
    StoreSome<V>(state.pending, state.pending.pieces);
  }
}

template <typename D, typename V>
void RunDotsOfPanels(const AmxCall<AmxFloats>& call, AmxState<AmxFloats>& state) {
  call.channels > kPanel ? RunDots<D, V, kAmxPanels>(call, state) : RunDots<D, V, 1>(call, state);
}

template <typename D, typename Floats>
constexpr AmxCode MakeDotCode(Isa isa, absl::Status (*request)()) {
  return {isa,   request, [](const AmxShape&) {},
          [] {}, {},      {{RunDotsOfPanels<D, Floats>, nullptr}, FinishAmx<Floats, AmxFloats>}};
}

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_AMX_DOTS_CODE_H_
