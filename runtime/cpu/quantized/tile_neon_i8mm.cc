// The tile of 64-bit Arm with products of matrices of bytes (smmla, usmmla): eight channels of two
// pixels, times eight channels of two filters, are added to four sums. 24 vectors of sums, three of
// input and four of weights fill 31 of 32 registers. One pixel, and depthwise filters, use dot
// products; unsigned images need no flip there either (usdot).
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_neon.h"

namespace ashlar::cpu {
namespace {

struct OfSigned {
  static constexpr bool kSigned = true;
  static int32x4_t Add(int32x4_t sums, int8x16_t bytes, int8x16_t weights) {
    return vdotq_s32(sums, bytes, weights);
  }
  static int32x4_t AddMatrix(int32x4_t sums, int8x16_t bytes, int8x16_t weights) {
    return vmmlaq_s32(sums, bytes, weights);
  }
};

struct OfUnsigned {
  static constexpr bool kSigned = false;
  static int32x4_t Add(int32x4_t sums, int8x16_t bytes, int8x16_t weights) {
    return vusdotq_s32(sums, vreinterpretq_u8_s8(bytes), weights);
  }
  static int32x4_t AddMatrix(int32x4_t sums, int8x16_t bytes, int8x16_t weights) {
    return vusmmlaq_s32(sums, vreinterpretq_u8_s8(bytes), weights);
  }
};

constexpr int kMost = 6, kVectors = kPanel / 4;  // pixels; vectors of a pixel's sums

// Halves of vectors, side by side.
int32x4_t Firsts(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
int32x4_t Seconds(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}

// A vector of sums is {pixel 0: channels 0 and 1, pixel 1: channels 0 and 1}. Two steps of weights,
// four bytes of each channel, are joined to eight. The last pixel of an odd number is computed
// twice.
template <typename Multiply, int kPixels>
void RunMatrices(const TileCall& call) {
  constexpr int kPairs = (kPixels + 1) / 2;
  int32x4_t sums[kPairs][2 * kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const int32x4_t start = vld1q_s32(call.start + 4 * v);
    for (auto& of_pair : sums) {
      of_pair[2 * v] = Firsts(start, start), of_pair[2 * v + 1] = Seconds(start, start);
    }
  }
  const int8_t *weights = call.weights, *ahead = call.ahead;
  const auto load = [&](int step, int v) __attribute__((always_inline)) {
    return vreinterpretq_s32_s8(vld1q_s8(weights + step * kPanel * kDepth + 16 * v));
  };
  // `steps`: 2, or 1 if the last channels of a tap fit in one.
  const auto add = [&](const uint64_t* bytes, auto steps) __attribute__((always_inline)) {
    for (int i = 0; i < steps; ++i, ahead += call.ahead_step) {
      __builtin_prefetch(ahead, /*rw=*/0, /*locality=*/2);
    }
    int8x16_t x[kPairs];
    for (int i = 0; i < kPairs; ++i) {
      const uint64_t second = bytes[2 * i + 1 < kPixels ? 2 * i + 1 : 2 * i];
      x[i] = vcombine_s8(vcreate_s8(bytes[2 * i]), vcreate_s8(second));
    }
    for (int v = 0; v < kVectors; ++v) {
      const int32x4_t low = load(0, v), high = steps == 2 ? load(1, v) : vdupq_n_s32(0);
      const int8x16_t w[] = {vreinterpretq_s8_s32(vzip1q_s32(low, high)),
                             vreinterpretq_s8_s32(vzip2q_s32(low, high))};
      for (int i = 0; i < kPairs; ++i) {
        for (int j = 0; j < 2; ++j) {
          sums[i][2 * v + j] = Multiply::AddMatrix(sums[i][2 * v + j], x[i], w[j]);
        }
      }
    }
    weights += steps * kPanel * kDepth;
  };
  const int64_t whole = call.depth / 8 * 8, rest = call.depth - whole;
  for (int64_t tap = 0; tap < call.num_taps; ++tap) {
    const uint8_t* const* const x = call.taps + tap * kPixels;
    uint64_t bytes[kPixels];
    for (int64_t c = 0; c < whole; c += 8) {
      for (int p = 0; p < kPixels; ++p) __builtin_memcpy(&bytes[p], x[p] + c, 8);
      add(bytes, std::integral_constant<int, 2>());
    }
    if (rest == 0) continue;
    for (int p = 0; p < kPixels; ++p) {  // reads nothing after the last channel
      bytes[p] = 0;
      for (int64_t i = 0; i < rest; ++i) {
        bytes[p] |= static_cast<uint64_t>(x[p][whole + i]) << (8 * i);
      }
    }
    rest > kDepth ? add(bytes, std::integral_constant<int, 2>())
                  : add(bytes, std::integral_constant<int, 1>());
  }
  int32x4_t by_pixel[kPixels][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    for (int p = 0; p < kPixels; ++p) {
      const int32x4_t a = sums[p / 2][2 * v], b = sums[p / 2][2 * v + 1];
      by_pixel[p][v] = p % 2 == 0 ? Firsts(a, b) : Seconds(a, b);
    }
  }
  StorePixels<VectorsNeon<Multiply>, kPixels == kMost>(call, by_pixel);
}

template <typename Multiply, int... kMore>
constexpr void SetMatrices(TileCode& code, std::integer_sequence<int, kMore...>) {
  ((code.run[Multiply::kSigned][1][kMore + 2] = RunMatrices<Multiply, kMore + 2>), ...);
}

constexpr TileCode Make() {
  TileCode code = MakeTileCode<VectorsNeon<OfUnsigned>, kMost, 1>();
  const TileCode of_signed = MakeTileCode<VectorsNeon<OfSigned>, kMost, 1>();
  code.offset[true] = 0;
  code.run[true][1][1] = of_signed.run[true][1][1];
  code.depthwise[true] = of_signed.depthwise[true];
  SetMatrices<OfUnsigned>(code, std::make_integer_sequence<int, kMost - 1>());
  SetMatrices<OfSigned>(code, std::make_integer_sequence<int, kMost - 1>());
  return code;
}

}  // namespace

extern const TileCode kTileNeonI8mm;
const TileCode kTileNeonI8mm = Make();

}  // namespace ashlar::cpu
