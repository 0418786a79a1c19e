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

  // Those of `count` channels, perhaps none.
  using Lanes = int64_t;
  static Lanes LanesOf(int64_t count) { return count; }

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
  // The same, unknown to the compiler.
  static Vector Apart(Vector vector) {
    asm("" : "+x"(vector));
    return vector;
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
  __attribute__((always_inline)) static Vector RoundedBytes(const Vector* sums,
                                                            const float* const* factors,
                                                            const ByteRounding& rounding) {
    __m256 steps[4];
    for (int i = 0; i < 4; ++i) {
      steps[i] = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[i]), _mm256_loadu_ps(factors[i]));
    }
    if (!rounding.in_range) {
      for (__m256& each : steps) each = _mm256_min_ps(_mm256_set1_ps(rounding.high), each);
    }
    return Bytes(steps, rounding);
  }
  // The same with a tensor added (TileSum). `z`: by vector, `lanes`: its bytes that there are.
  template <int kVectors>
  __attribute__((always_inline)) static Vector SummedBytes(const Vector* sums,
                                                           const float* const* factors,
                                                           const uint8_t* const* z,
                                                           const Lanes* lanes, const TileSum& sum,
                                                           const ByteRounding& rounding) {
    constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    __m256 a[4], b[4], steps[4], farthest = _mm256_setzero_ps();
    for (int i = 0; i < 4; ++i) {
      const __m256 exact = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[i]), _mm256_loadu_ps(factors[i]));
      a[i] = _mm256_min_ps(_mm256_max_ps(_mm256_round_ps(exact, kNearest), _mm256_set1_ps(sum.low)),
                           _mm256_set1_ps(sum.high));
      const __m128i bytes = _mm_xor_si128(LoadLanes(z[i], lanes[i % kVectors]),
                                          _mm_set1_epi8(static_cast<char>(sum.z_flip)));
      b[i] = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
      steps[i] = _mm256_fmadd_ps(
          a[i], _mm256_set1_ps(sum.of_a),
          _mm256_fmadd_ps(b[i], _mm256_set1_ps(sum.of_z), _mm256_set1_ps(sum.shift)));
      const __m256 rest = _mm256_sub_ps(steps[i], _mm256_round_ps(steps[i], kNearest));
      farthest = _mm256_max_ps(farthest, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), rest));
    }
    const __m256 unsure = _mm256_cmp_ps(farthest, _mm256_set1_ps(sum.surely), _CMP_GT_OQ);
    if (_mm256_movemask_ps(unsure) != 0) {
      for (int i = 0; i < 4; ++i) {
        const __m256 from_zero = _mm256_sub_ps(b[i], _mm256_set1_ps(sum.z_zero_point));
        const __m256 exact = _mm256_add_ps(_mm256_mul_ps(a[i], _mm256_set1_ps(sum.a_scale)),
                                           _mm256_mul_ps(from_zero, _mm256_set1_ps(sum.z_scale)));
        steps[i] = _mm256_min_ps(_mm256_set1_ps(rounding.high),
                                 _mm256_div_ps(exact, _mm256_set1_ps(sum.y_scale)));
      }
    }
    return Bytes(steps, rounding);
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

 private:
  // Of four vectors of steps from the zero point, below 31 bits, the bytes in the order of
  // RoundedBytes.
  __attribute__((always_inline)) static Vector Bytes(const __m256* steps,
                                                     const ByteRounding& rounding) {
    const auto all = [](uint8_t byte) { return _mm256_set1_epi8(static_cast<char>(byte)); };
    const auto words = [&](int i) {
      const Vector packed =
          _mm256_packs_epi32(_mm256_cvtps_epi32(steps[i]), _mm256_cvtps_epi32(steps[i + 1]));
      return _mm256_adds_epi16(packed, _mm256_set1_epi16(rounding.zero));
    };
    const Vector bytes = _mm256_packus_epi16(words(0), words(2));
    return _mm256_xor_si256(
        _mm256_min_epu8(_mm256_max_epu8(bytes, all(rounding.least)), all(rounding.most)),
        all(rounding.flip));
  }
  // kLanes bytes, where there are so many.
  static __m128i LoadLanes(const uint8_t* data, int64_t count) {
    if (count >= kLanes) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(data));
    uint8_t bytes[16] = {};
    if (count > 0) __builtin_memcpy(bytes, data, static_cast<size_t>(count));
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
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
