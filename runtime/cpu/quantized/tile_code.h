// The innermost code of 8-bit convolutions, written with the vectors V of an instruction set
// (vectors_256.h). A step adds four products of bytes to each sum of a vector. Weights are signed.
// Images are unsigned, as for VNNI's vpdpbusd, or signed, as for Arm's sdot (V::kSigned); other
// images are read as bytes 128 larger or smaller.
//
// Included only by the files of instruction sets, each with its own vectors in an unnamed
// namespace. So the linker cannot share functions between them.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_CODE_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_CODE_H_

#include <cstdint>
#include <utility>

#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {

// Calls function(i) for i in [0, kCount); each i is a compile-time constant.
template <int kCount, typename Function>
__attribute__((always_inline)) inline void ForEach(const Function& function) {
  [&]<int... kIndices>(std::integer_sequence<int, kIndices...>) __attribute__((always_inline)) {
    (function(std::integral_constant<int, kIndices>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

// Whether bytes of an image are flipped to the kind that the steps of V multiply.
template <typename V>
constexpr bool Flips(bool is_signed) {
  return is_signed != V::kSigned;
}

// Rounds four vectors of sums to bytes, in the order of V::Bytes. For NaN, a minimum returns its
// second operand, and the conversion to integers the least integer.
template <typename V>
__attribute__((always_inline)) inline typename V::Vector RoundedBytes(
    const typename V::Vector* sums, const float* const* factors, const ByteRounding& rounding) {
  typename V::Floats steps[4];
  for (int i = 0; i < 4; ++i) steps[i] = V::ToFloats(sums[i]) * V::LoadFloats(factors[i]);
  if (!rounding.in_range) {
    for (auto& each : steps) each = V::Min(V::All(rounding.high), each);
  }
  return V::Bytes(steps, rounding);
}

// Returns FixedPointSum::Of of each lane. Few sums are so near a half that this is needed.
template <typename V>
__attribute__((noinline)) typename V::Floats FixedSums(typename V::Floats a, typename V::Floats b,
                                                       const FixedPointSum& sum) {
  float left[V::kLanes], right[V::kLanes];
  __builtin_memcpy(left, &a, sizeof(left));
  __builtin_memcpy(right, &b, sizeof(right));
  for (int i = 0; i < V::kLanes; ++i) {
    left[i] =
        static_cast<float>(sum.Of(static_cast<int32_t>(left[i]), static_cast<int32_t>(right[i])));
  }
  return V::LoadFloats(left);
}

// The same with a tensor added (TileSum). `z` has one pointer per vector, `lanes` the number of its
// bytes that exist.
template <typename V, int kVectors>
__attribute__((always_inline)) inline typename V::Vector SummedBytes(
    const typename V::Vector* sums, const float* const* factors, const uint8_t* const* z,
    const typename V::Lanes* lanes, const TileSum& sum, const ByteRounding& rounding) {
  typename V::Floats a[4], b[4], steps[4], farthest = V::All(0);
  for (int i = 0; i < 4; ++i) {
    const auto rounded = V::Nearest(V::ToFloats(sums[i]) * V::LoadFloats(factors[i]));
    a[i] = V::Min(V::Max(rounded, V::All(sum.low)), V::All(sum.high));
    b[i] = V::BytesAsFloats(z[i], lanes[i % kVectors], sum.z_flip);
    steps[i] =
        V::MulAdd(a[i], V::All(sum.of_a), V::MulAdd(b[i], V::All(sum.of_z), V::All(sum.shift)));
    farthest = V::Farther(steps[i] - V::Nearest(steps[i]), farthest);
  }
  if (V::AnyAbove(farthest, sum.surely)) {
    for (int i = 0; i < 4; ++i) {
      const auto from_zero = b[i] - V::All(sum.z_zero_point);
      const auto exact =
          sum.fixed.absent()
              ? (a[i] * V::All(sum.a_scale) + from_zero * V::All(sum.z_scale)) / V::All(sum.y_scale)
              : FixedSums<V>(a[i], from_zero, sum.fixed);
      steps[i] = V::Min(V::All(rounding.high), exact);
    }
  }
  return V::Bytes(steps, rounding);
}

// Rounds and stores four vectors of a tile's sums from pixel p on, with the added tensor if kAdds.
// sum(pixel, v) returns a vector. `own` and values taken from it are copies, so the compiler knows
// that byte stores do not change them.
template <typename V, bool kAdds, int kVectors, typename P, typename Sum>
__attribute__((always_inline)) inline void StoreFour(P p, int pixels, const TileCall& own,
                                                     const TileSum& added,
                                                     const typename V::Lanes* lanes,
                                                     const Sum& sum) {
  typename V::Vector four[4];
  const float* factors[4];
  const uint8_t* z[4];
  for (int i = 0; i < 4; ++i) {
    const int pixel = p + i / kVectors < pixels ? p + i / kVectors : p;
    const int channel = i % kVectors * V::kLanes;
    four[i] = sum(pixel, i % kVectors);
    factors[i] = own.factors + channel;
    if (kAdds) z[i] = own.z[pixel] + own.channel + channel;
  }
  const typename V::Vector bytes =
      V::InOrder(kAdds ? SummedBytes<V, kVectors>(four, factors, z, lanes, added, own.rounding)
                       : RoundedBytes<V>(four, factors, own.rounding));
  ForEach<4 / kVectors>([&](auto part) __attribute__((always_inline)) {
    if (p + part < pixels) {
      V::template StorePart<kVectors, part>(bytes, own.dst[p + part] + own.channel, own.channels);
    }
  });
}

// Joins sums to Int32 ones, and stores them as they are or rounded (TileSum::joins). Sums that
// overflow wrap around, as in vectors.
template <typename V, int kVectors>
__attribute__((noinline)) void StoreJoined(const TileCall& call,
                                           const typename V::Vector (*sums)[kVectors], int pixels) {
  constexpr int64_t kSums = kVectors * V::kLanes;
  const int64_t channels = call.channels;
  for (int p = 0; p < pixels; ++p) {
    uint32_t joined[kSums], before[kSums] = {};
    __builtin_memcpy(joined, sums[p], sizeof(joined));
    if (!call.sum->first) {
      const auto* const z = reinterpret_cast<const int32_t*>(call.z[p]) + call.channel;
      __builtin_memcpy(before, z, static_cast<size_t>(channels) * sizeof(int32_t));
    }
    for (int64_t c = 0; c < kSums; ++c) joined[c] += before[c];
    if (call.sum->unfinished) {
      auto* const dst = reinterpret_cast<int32_t*>(call.dst[p]) + call.channel;
      __builtin_memcpy(dst, joined, static_cast<size_t>(channels) * sizeof(int32_t));
      continue;
    }
    uint8_t bytes[kSums];
    for (int64_t c = 0; c < kSums; ++c) {
      const float steps = static_cast<float>(static_cast<int32_t>(joined[c])) * call.factors[c];
      bytes[c] = static_cast<uint8_t>(Rounded(steps, call.rounding));
    }
    __builtin_memcpy(call.dst[p] + call.channel, bytes, static_cast<size_t>(channels));
  }
}

// Stores sums from memory, by pixel; one function for all tile sizes.
template <typename V, bool kAdds, int kVectors>
__attribute__((noinline)) void StoreFromMemory(const TileCall& call,
                                               const typename V::Vector (*sums)[kVectors],
                                               int pixels) {
  if (kAdds && call.sum->joins) return StoreJoined<V, kVectors>(call, sums, pixels);
  const TileCall own = call;
  const TileSum added = kAdds ? *call.sum : TileSum();
  typename V::Lanes lanes[kVectors];
  for (int v = 0; v < kVectors; ++v) lanes[v] = V::LanesOf(own.channels - v * V::kLanes);
  for (int p = 0; p < pixels; p += 4 / kVectors) {
    StoreFour<V, kAdds, kVectors>(
        p, pixels, own, added,
        lanes, [&](int pixel, int v) __attribute__((always_inline)) { return sums[pixel][v]; });
  }
}

// Stores from registers, unrolled, if nothing is added. The code is long, so only the largest tile
// uses it.
template <typename V, int kPixels, int kVectors>
__attribute__((always_inline)) inline void StoreFromRegisters(
    const TileCall& call, const typename V::Vector (&sums)[kPixels][kVectors]) {
  constexpr int kTogether = 4 / kVectors;  // pixels
  const TileCall own = call;
  ForEach<(kPixels + kTogether - 1) / kTogether>([&](auto i) __attribute__((always_inline)) {
    StoreFour<V, false, kVectors>(
        std::integral_constant<int, i * kTogether>(), kPixels, own, TileSum(),
        nullptr, [&](int pixel, int v) __attribute__((always_inline)) { return sums[pixel][v]; });
  });
}

template <typename V, bool kLargest, int kPixels, int kVectors>
__attribute__((always_inline)) inline void StorePixels(
    const TileCall& call, const typename V::Vector (&sums)[kPixels][kVectors]) {
  // Separate variables: the compiler may keep some of these in memory, without doing so while
  // products are added.
  typename V::Vector apart[kPixels][kVectors];
  const auto copy = [&](typename V::Vector(&to)[kPixels][kVectors]) __attribute__((always_inline)) {
    ForEach<kPixels * kVectors>([&](auto i) __attribute__((always_inline)) {
      to[i / kVectors][i % kVectors] = V::Apart(sums[i / kVectors][i % kVectors]);
    });
  };
  if constexpr (kLargest) {
    if (call.sum == nullptr) {
      copy(apart);
      return StoreFromRegisters<V>(call, apart);
    }
  }
  typename V::Vector stored[kPixels][kVectors];
  copy(stored);
  if (call.sum != nullptr) {
    StoreFromMemory<V, true, kVectors>(call, stored, kPixels);
  } else if (!kLargest) {
    StoreFromMemory<V, false, kVectors>(call, stored, kPixels);
  }
}

// Broadcasts four channels of a pixel and multiplies them by the weights of a vector of output
// channels.
template <typename V, int kPixels, int kPanels, bool kSigned, bool kLargest>
void RunTile(const TileCall& call) {
  constexpr int kOfPanel = static_cast<int>(kPanel) / V::kLanes;
  constexpr int kVectors = kPanels * kOfPanel;
  typename V::Vector sums[kPixels][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const typename V::Vector start = V::Load(call.start + v * V::kLanes);
    for (int p = 0; p < kPixels; ++p) sums[p][v] = start;
  }
  const int8_t *weights = call.weights, *ahead = call.ahead;
  const auto step = [&](const uint32_t* bytes) __attribute__((always_inline)) {
    __builtin_prefetch(ahead, /*rw=*/0, /*locality=*/2);
    ahead += call.ahead_step;
    typename V::Vector w[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      w[v] = V::Load(weights + v / kOfPanel * call.panel_step +
                     v % kOfPanel * V::kLanes * static_cast<int>(kDepth));
    }
    for (int p = 0; p < kPixels; ++p) {
      typename V::Vector x = V::Broadcast(bytes[p]);
      if (Flips<V>(kSigned)) x = V::Flip(x);
      for (int v = 0; v < kVectors; ++v) sums[p][v] = V::Add(sums[p][v], x, w[v]);
    }
    weights += kPanel * kDepth;
  };
  const int64_t whole = call.depth / kDepth * kDepth, rest = call.depth - whole;
  for (int64_t tap = 0; tap < call.num_taps; ++tap) {
    const uint8_t* const* const x = call.taps + tap * kPixels;
    uint32_t bytes[kPixels];
    for (int64_t c = 0; c < whole; c += kDepth) {
      for (int p = 0; p < kPixels; ++p) __builtin_memcpy(&bytes[p], x[p] + c, kDepth);
      step(bytes);
    }
    if (rest == 0) continue;
    for (int p = 0; p < kPixels; ++p) {  // reads nothing after the last channel
      bytes[p] = 0;
      for (int64_t i = 0; i < rest; ++i) {
        bytes[p] |= static_cast<uint32_t>(x[p][whole + i]) << (8 * i);
      }
    }
    step(bytes);
  }
  StorePixels<V, kLargest>(call, sums);
}

// Interleaves the bytes of four taps by channel, as V::Add takes them. In each 128-bit lane, vector
// j has channels 4 j to 4 j + 3 of each sixteen.
template <typename V>
__attribute__((always_inline)) inline void Interleave(const typename V::Vector* taps,
                                                      typename V::Vector* groups) {
  const typename V::Vector low01 = V::LowBytes(taps[0], taps[1]),
                           high01 = V::HighBytes(taps[0], taps[1]),
                           low23 = V::LowBytes(taps[2], taps[3]),
                           high23 = V::HighBytes(taps[2], taps[3]);
  groups[0] = V::LowPairs(low01, low23);
  groups[1] = V::HighPairs(low01, low23);
  groups[2] = V::LowPairs(high01, high23);
  groups[3] = V::HighPairs(high01, high23);
}

// Computes V::kBytes channels of all pixels that share columns with pixel `p`, kPixels at a time.
// Each column is read once for all windows that contain it. If fewer pixels are left at the end,
// some are computed twice. `flip` is xored with the bytes of the image.
template <typename V, int kPixels>
[[gnu::noinline]] void RunShared(const DepthwiseCall& call, int64_t p, uint32_t flip,
                                 const typename V::Vector* start, const typename V::Vector* weights,
                                 const float* const* factors) {
  const int64_t last = call.shared[p] - kPixels;
  for (int64_t begin = 0; begin < last + kPixels; begin += kPixels) {
    const int64_t first = begin < last ? begin : last;
    typename V::Vector sums[kPixels][4];
    for (auto& of_pixel : sums) {
      for (int j = 0; j < 4; ++j) of_pixel[j] = start[j];
    }
    const uint8_t* rows[kShared];
    for (int r = 0; r < kShared; ++r) {
      rows[r] = call.taps[p][r] + call.channel + first * call.steps[p][r];
    }
    ForEach<kPixels + kShared - 1>([&](auto column) __attribute__((always_inline)) {
      typename V::Vector taps[4], groups[4];
      for (int r = 0; r < kShared; ++r) {
        taps[r] = V::FlipBy(V::Load(rows[r] + column * call.steps[p][r]), flip);
      }
      taps[kShared] = taps[0];  // its weight is zero
      Interleave<V>(taps, groups);
      ForEach<kPixels>([&](auto pixel) __attribute__((always_inline)) {
        constexpr int kColumn = column - pixel;
        if constexpr (kColumn >= 0 && kColumn < kShared) {
          for (int j = 0; j < 4; ++j) {
            sums[pixel][j] = V::Add(sums[pixel][j], groups[j], weights[4 * kColumn + j]);
          }
        }
      });
    });
    for (int i = 0; i < kPixels; ++i) {
      V::StoreSome(RoundedBytes<V>(sums[i], factors, call.rounding),
                   call.dst[p + first + i] + call.channel, V::kBytes);
    }
  }
}

// kTogether: the number of pixels whose sums, plus one column, fit in the registers.
template <typename V, bool kSigned, int kTogether>
void RunDepthwise(const DepthwiseCall& call) {
  constexpr int kQuads = V::kBytes / 16;  // groups of 128 bits
  typename V::Vector start[4], weights[4 * (kMostTaps / kDepth)];
  float factors[4][V::kLanes];
  for (int j = 0; j < 4; ++j) {
    for (int quad = 0; quad < kQuads; ++quad) {
      __builtin_memcpy(factors[j] + 4 * quad, call.factors + 16 * quad + 4 * j, 16);
    }
    start[j] = V::LoadQuads(call.start + 4 * j, 16 * sizeof(int32_t), kQuads);
    for (int64_t group = 0; group < call.groups; ++group) {
      weights[4 * group + j] = V::LoadQuads(call.weights + group * kPanel * kDepth + 16 * j,
                                            call.panel_step, (call.channels + 15) / 16);
    }
  }
  const float* const of_sums[] = {factors[0], factors[1], factors[2], factors[3]};
  for (int64_t p = 0; p < call.pixels; ++p) {
    if (call.shared != nullptr && call.shared[p] >= kTogether && call.channels == V::kBytes) {
      RunShared<V, kTogether>(call, p, Flips<V>(kSigned) ? 0x80808080 : 0, start, weights, of_sums);
      p += call.shared[p] - 1;
      continue;
    }
    const uint8_t* const* taps = call.taps[p];
    int64_t channel[kDepth];
    for (int i = 0; i < kDepth; ++i) {
      const bool moves = call.shared == nullptr || (i < kShared && call.steps[p][i] != 0);
      channel[i] = call.channel + (moves ? call.offset[p] : 0);
    }
    typename V::Vector sums[4] = {start[0], start[1], start[2], start[3]};
    for (int64_t group = 0; group < call.groups; ++group, taps += kDepth) {
      typename V::Vector x[4];
      for (int i = 0; i < 4; ++i) {
        x[i] = V::LoadSome(taps[i] + channel[i], call.channels);
        if (Flips<V>(kSigned)) x[i] = V::Flip(x[i]);
      }
      typename V::Vector groups[4];
      Interleave<V>(x, groups);
      for (int j = 0; j < 4; ++j) sums[j] = V::Add(sums[j], groups[j], weights[4 * group + j]);
    }
    V::StoreSome(RoundedBytes<V>(sums, of_sums, call.rounding), call.dst[p] + call.channel,
                 call.channels);
  }
}

// Uses vectors of half the size if they hold all channels.
template <typename V, typename Half, bool kSigned>
void RunDepthwiseOrHalf(const DepthwiseCall& call) {
  constexpr int kTogether = V::kBytes == 64 ? 4 : 2;
  call.channels <= Half::kBytes ? RunDepthwise<Half, kSigned, kTogether>(call)
                                : RunDepthwise<V, kSigned, kTogether>(call);
}

template <typename V, int kPanels, bool kSigned, int... kPixels>
constexpr void SetTiles(TileCode& code, std::integer_sequence<int, kPixels...>) {
  constexpr int kMost = sizeof...(kPixels);
  ((code.run[kSigned][kPanels][kPixels + 1] =
        RunTile<V, kPixels + 1, kPanels, kSigned, kPixels + 1 == kMost>),
   ...);
}

// A TableFunction.
template <typename V>
void RunTable(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n) {
  const typename V::Table looked_up(table);
  int64_t i = 0;
  for (; i + V::kBytes <= n; i += V::kBytes) {
    V::StoreSome(looked_up.Of(V::Load(x + i)), y + i, V::kBytes);
  }
  for (; i < n; ++i) y[i] = table[x[i]];
}

template <typename V, int kPixels, int kPanels, typename Half = V>
constexpr TileCode MakeTileCode() {
  TileCode code = {kPixels, kPanels, V::kBytes, {}, {}, {}, RunTable<V>};
  code.offset[!V::kSigned] = V::kSigned ? -128 : 128;
  using Sequence = std::make_integer_sequence<int, kPixels>;
  code.depthwise[0] = RunDepthwiseOrHalf<V, Half, false>;
  code.depthwise[1] = RunDepthwiseOrHalf<V, Half, true>;
  SetTiles<V, 1, false>(code, Sequence());
  SetTiles<V, 1, true>(code, Sequence());
  if constexpr (kPanels > 1) {
    SetTiles<V, kPanels, false>(code, Sequence());
    SetTiles<V, kPanels, true>(code, Sequence());
  }
  return code;
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_CODE_H_
