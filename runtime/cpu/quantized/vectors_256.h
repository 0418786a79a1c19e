// Vectors of 256 bits for tile_code.h. `Multiply`: a struct with
//   static __m256i Add(sums, unsigned bytes, signed bytes)
// that adds the four products of each 32 bits without saturating.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_256_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_256_H_

#include <immintrin.h>

#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {
namespace {

template <typename Multiply>
struct Vectors256 {
  using Vector = __m256i;
  static constexpr int kLanes = 8, kBytes = 32;

  static Vector Load(const void* data) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(data));
  }
  // `count` bytes, at most kBytes; nothing is read behind them.
  static Vector LoadSome(const uint8_t* data, int64_t count) {
    if (count >= kBytes) return Load(data);
    if (count == 16) {
      return _mm256_zextsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data)));
    }
    uint8_t bytes[kBytes] = {};
    __builtin_memcpy(bytes, data, static_cast<size_t>(count));
    return Load(bytes);
  }
  static Vector Broadcast(uint32_t bytes) { return _mm256_set1_epi32(static_cast<int>(bytes)); }
  static Vector Flip(Vector bytes) { return _mm256_xor_si256(bytes, Broadcast(0x80808080)); }
  static Vector Add(Vector sums, Vector bytes, Vector weights) {
    return Multiply::Add(sums, bytes, weights);
  }

  // In each 128 bits.
  static Vector LowBytes(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
  static Vector HighBytes(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
  static Vector LowPairs(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
  static Vector HighPairs(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }

  // The integers of four vectors of sums as bytes, those of each 128 bits side by side. Of NaN a
  // minimum is its second operand, as an integer the least there is, as are those of below 31 bits;
  // packing to 16 bits saturates.
  static Vector RoundedBytes(const Vector* sums, const float* const* factors,
                             const RoundingSteps& rounding) {
    const auto integers = [&](int i) {  // half to even
      const __m256 steps = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[i]), _mm256_loadu_ps(factors[i]));
      return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(rounding.high), steps));
    };
    const Vector low = _mm256_set1_epi16(static_cast<int16_t>(rounding.low)),
                 zero_point = _mm256_set1_epi16(static_cast<int16_t>(rounding.zero_point));
    const auto words = [&](int i) {
      const Vector steps = _mm256_packs_epi32(integers(i), integers(i + 1));
      return _mm256_and_si256(_mm256_add_epi16(_mm256_max_epi16(steps, low), zero_point),
                              _mm256_set1_epi16(0xff));
    };
    return _mm256_packus_epi16(words(0), words(2));
  }
  // Those of the first vector, of the second, and so on.
  static Vector InOrder(Vector bytes) {
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  static void StoreSome(Vector bytes, uint8_t* dst, int64_t count) {
    if (count >= kBytes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), bytes);
    } else if (count == 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm256_castsi256_si128(bytes));
    } else {
      uint8_t stored[kBytes];
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(stored), bytes);
      __builtin_memcpy(dst, stored, static_cast<size_t>(count));
    }
  }
  // Part kPart of the bytes of four vectors, that of kVectors of them.
  template <int kVectors, int kPart>
  static void StorePart(Vector bytes, uint8_t* dst, int64_t count) {
    static_assert(kVectors == 2);
    const __m128i part = _mm256_extracti128_si256(bytes, kPart);
    if (count >= 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), part);
    } else {
      uint8_t stored[16];
      _mm_storeu_si128(reinterpret_cast<__m128i*>(stored), part);
      __builtin_memcpy(dst, stored, static_cast<size_t>(count));
    }
  }
};

// The even bytes and the odd ones, widened to 16 bits: vpmaddwd adds pairs of products in 32.
// (vpmaddubsw, which multiplies bytes, would saturate.)
struct Widened256 {
  static __m256i Add(__m256i sums, __m256i bytes, __m256i weights) {
    const __m256i even = _mm256_madd_epi16(_mm256_and_si256(bytes, _mm256_set1_epi16(0xff)),
                                           _mm256_srai_epi16(_mm256_slli_epi16(weights, 8), 8));
    const __m256i odd =
        _mm256_madd_epi16(_mm256_srli_epi16(bytes, 8), _mm256_srai_epi16(weights, 8));
    return _mm256_add_epi32(_mm256_add_epi32(sums, even), odd);
  }
};

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_256_H_
