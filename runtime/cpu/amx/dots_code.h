// The innermost code of products of BFloat16 without tiles, by an instruction that adds two
// products to each of 16 sums (AVX512_BF16's VDPBF16PS). It takes the calls of tiles.h: the same
// pixels, packed weights and results.
//
// A group of up to 12 pixels by two panels of 16 channels keeps its sums in registers over all
// steps: 24 sums, two vectors of weights and a pair of 32. A pair of channels of a pixel is read
// once for both panels, and a pair of weights once for all pixels of the group.
//
// An engine D has static functions: Load and Store of 16 Float32, LoadWeights of 16 pairs, Repeat
// of one pair, Add(sums, pair, weights), which adds the product of the odd elements to the sum,
// then the product of the even ones, each fused; and StoreHalves of a vector of V in BFloat16.
#ifndef ASHLAR_RUNTIME_CPU_AMX_DOTS_CODE_H_
#define ASHLAR_RUNTIME_CPU_AMX_DOTS_CODE_H_

#include "runtime/cpu/amx/tiles_code.h"

namespace ashlar::cpu {
namespace {  // compiled for several engines

constexpr int kMostRows = static_cast<int>(kDotRows);

// A share of the weights of the next block, which a group prefetches: so many bytes of each step.
struct WeightsAhead {
  const char* from = nullptr;
  int64_t bytes = 0;
};

// Sums kRows pixels from `src` on, for kPanels panels, and stores them from row 0 of `sums` on.
template <typename D, int kRows, int kPanels>
void SumGroup(const AmxCall<AmxFloats>& call, const uint8_t* src, WeightsAhead ahead,
              int32_t* sums) {
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
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      D::Store(total[r][p], sums + (p * kAmxBlockRows + r) * kPanel);
    }
  }
}

template <typename D, int kPanels, int kRows = kMostRows>
void SumRows(const AmxCall<AmxFloats>& call, int64_t rows, const uint8_t* src, WeightsAhead ahead,
             int32_t* sums) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return SumGroup<D, kRows, kPanels>(call, src, ahead, sums);
    SumRows<D, kPanels, kRows - 1>(call, rows, src, ahead, sums);
  }
}

// Stores whole panels of the pending sums, with one of the usual activations.
template <typename D, typename V, bool kAdds, ScalarFunction kFunction>
void StoreWhole(const AmxPending<AmxFloats>& pending, int64_t panels) {
  constexpr int kLanes = V::kBytes / static_cast<int>(sizeof(float));
  using Stored = BFloat16Vectors<kLanes>;
  const AmxFloats& results = pending.results;
  const float* const parameters = results.finish.parameters;
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t panel = pending.channel / kPanel + p;
    const int32_t* const sums = pending.sums + p * kAmxBlockRows * kPanel;
    for (int64_t pixel = 0; pixel < pending.pixels; ++pixel) {
      const auto* const from = reinterpret_cast<const char*>(sums + pending.rows[pixel] * kPanel);
      char* const to = reinterpret_cast<char*>(pending.dst[pixel]) + panel * results.panel_step;
      for (int v = 0; v < kPanel / kLanes; ++v) {
        typename V::Vector value = V::Load(from + v * V::kBytes);
        if constexpr (kAdds) {
          value += Stored::Load(reinterpret_cast<const char*>(pending.z[pixel]) +
                                panel * results.z_panel_step + v * Stored::kBytes);
        }
        if constexpr (kFunction != ScalarFunction::kIdentity) {
          value = Formula<kFunction>::Of(value, parameters[0], parameters[1]);
        }
        D::StoreHalves(value, to + v * Stored::kBytes);
      }
    }
  }
}

// Stores the pending sums. A function without branches for the usual cases takes half of the time.
template <typename D, typename V, int kPanels>
void StoreAll(AmxPending<AmxFloats>& pending) {
  const auto stores = [&]<ScalarFunction kFunction>() {
    if (pending.results.finish.function != kFunction) return false;
    pending.results.adds ? StoreWhole<D, V, true, kFunction>(pending, kPanels)
                         : StoreWhole<D, V, false, kFunction>(pending, kPanels);
    pending.next = pending.pieces;
    return true;
  };
  const bool whole = pending.channels >= kPanels * kPanel && pending.results.behind == nullptr;
  if (whole && (stores.template operator()<ScalarFunction::kIdentity>() ||
                stores.template operator()<ScalarFunction::kRelu>() ||
                stores.template operator()<ScalarFunction::kClamp>())) {
    return;
  }
  StoreSome<V>(pending, pending.pieces);
}

// Computes and stores the blocks of one tile of pixels each.
template <typename D, typename V, int kPanels>
void RunDots(const AmxCall<AmxFloats>& call, AmxState<AmxFloats>& state) {
  const AmxPixels& pixels = *call.pixels;
  const int64_t groups = CeilDivideOf(call.shape.rows, kMostRows);
  const int64_t of_group = CeilDivideOf(call.shape.rows, groups);
  // Each group prefetches as much of every step.
  const int64_t step_bytes = kPanels * call.shape.depth * kPanel;
  const int64_t share =
      call.ahead == nullptr
          ? 0
          : CeilDivideOf(CeilDivideOf(step_bytes, pixels.tiles * groups), kLine) * kLine;
  int64_t fetched = 0;
  for (int64_t tile = 0; tile < pixels.tiles; ++tile) {
    int32_t* const sums = state.sums[0];
    const int64_t first = tile % kAmxTiles * kAmxRows;
    for (int64_t row = 0; row < call.shape.rows; row += of_group) {
      const int64_t rest = call.shape.rows - row;
      const int64_t more = fetched + share < step_bytes ? share : step_bytes - fetched;
      SumRows<D, kPanels>(
          call, rest < of_group ? rest : of_group, pixels.src[tile] + row * call.pixel_step,
          {call.ahead + fetched, call.ahead == nullptr ? 0 : more}, sums + (first + row) * kPanel);
      fetched += call.ahead == nullptr ? 0 : more;
    }
    SetPending<V, kPanels>(call, tile, 1, sums, state.pending);
    StoreAll<D, V, kPanels>(state.pending);
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
