// 512-bit vectors for tile_code.h, with the interface of vectors_256.h.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_512_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_512_H_

#include <immintrin.h>

#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {
namespace {

template <typename Multiply>
struct Vectors512 {
  using Vector = __m512i;
  static constexpr int kLanes = 16, kBytes = 64;
  static constexpr bool kSigned = false;

  // Returns the lanes of `count` channels, which may be 0.
  using Lanes = __mmask16;
  static Lanes LanesOf(int64_t count) {
    return static_cast<Lanes>(count >= kLanes ? 0xffff : count <= 0 ? 0 : Mask(count));
  }

  static Vector Load(const void* data) { return _mm512_loadu_si512(data); }
  static Vector LoadSome(const uint8_t* data, int64_t count) {
    return count >= kBytes ? Load(data) : _mm512_maskz_loadu_epi8(Mask(count), data);
  }
  // Loads 16 bytes each from `quads` places, `step` bytes apart; the rest is 0.
  static Vector LoadQuads(const void* data, int64_t step, int64_t quads) {
    const auto quad = [&](int64_t i) {
      return _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(static_cast<const char*>(data) + i * step));
    };
    Vector vector = _mm512_zextsi128_si512(quad(0));
    if (quads > 1) vector = _mm512_inserti32x4(vector, quad(1), 1);
    if (quads > 2) vector = _mm512_inserti32x4(vector, quad(2), 2);
    if (quads > 3) vector = _mm512_inserti32x4(vector, quad(3), 3);
    return vector;
  }
  // Returns the same vector, but hides its origin from the compiler.
  static Vector Apart(Vector vector) {
    asm("" : "+v"(vector));
    return vector;
  }
  static Vector Broadcast(uint32_t bytes) { return _mm512_set1_epi32(static_cast<int>(bytes)); }
  static Vector FlipBy(Vector bytes, uint32_t flip) {
    return _mm512_xor_si512(bytes, Broadcast(flip));
  }
  static Vector Flip(Vector bytes) { return FlipBy(bytes, 0x80808080); }
  static Vector Add(Vector sums, Vector bytes, Vector weights) {
    return Multiply::Add(sums, bytes, weights);
  }

  struct Table {
    Vector rows[16];

    explicit Table(const uint8_t* bytes) {
      for (int i = 0; i < 16; ++i) {
        rows[i] =
            _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i));
      }
    }
    Vector Of(Vector bytes) const {
      Vector found = _mm512_setzero_si512();
      for (int i = 0; i < 16; ++i) {
        const Vector own = _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(i << 4)));
        const Vector index = _mm512_adds_epu8(own, _mm512_set1_epi8(0x70));
        found = _mm512_or_si512(found, _mm512_shuffle_epi8(rows[i], index));
      }
      return found;
    }
  };

  static Vector LowBytes(Vector a, Vector b) { return _mm512_unpacklo_epi8(a, b); }
  static Vector HighBytes(Vector a, Vector b) { return _mm512_unpackhi_epi8(a, b); }
  static Vector LowPairs(Vector a, Vector b) { return _mm512_unpacklo_epi16(a, b); }
  static Vector HighPairs(Vector a, Vector b) { return _mm512_unpackhi_epi16(a, b); }

  using Floats = __m512;
  static Floats All(float value) { return _mm512_set1_ps(value); }
  static Floats LoadFloats(const float* data) { return _mm512_loadu_ps(data); }
  static Floats ToFloats(Vector integers) { return _mm512_cvtepi32_ps(integers); }
  // If an operand is NaN, both return the second one.
  static Floats Min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
  static Floats Max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  static Floats MulAdd(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats Nearest(Floats values) {
    return _mm512_roundscale_ps(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static Floats BytesAsFloats(const uint8_t* data, Lanes lanes, uint8_t flip) {
    const __m128i bytes =
        _mm_xor_si128(_mm_maskz_loadu_epi8(lanes, data), _mm_set1_epi8(static_cast<char>(flip)));
    return ToFloats(_mm512_cvtepu8_epi32(bytes));
  }
  static Floats Farther(Floats value, Floats magnitude) {
    constexpr int kLargerMagnitude = 0b1011;
    return _mm512_range_ps(value, magnitude, kLargerMagnitude);
  }
  static bool AnyAbove(Floats values, float bound) {
    return _mm512_cmp_ps_mask(values, All(bound), _CMP_GT_OQ) != 0;
  }
  __attribute__((always_inline)) static Vector Bytes(const __m512* steps,
                                                     const ByteRounding& rounding) {
    const auto all = [](uint8_t byte) { return _mm512_set1_epi8(static_cast<char>(byte)); };
    const auto words = [&](int i) {
      const Vector packed =
          _mm512_packs_epi32(_mm512_cvtps_epi32(steps[i]), _mm512_cvtps_epi32(steps[i + 1]));
      return _mm512_adds_epi16(packed, _mm512_set1_epi16(rounding.zero));
    };
    const Vector bytes = _mm512_packus_epi16(words(0), words(2));
    return _mm512_xor_si512(
        _mm512_min_epu8(_mm512_max_epu8(bytes, all(rounding.least)), all(rounding.most)),
        all(rounding.flip));
  }
  static Vector InOrder(Vector bytes) {
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
  }
  static void StoreSome(Vector bytes, uint8_t* dst, int64_t count) {
    if (count >= kBytes) {
      _mm512_storeu_si512(dst, bytes);
    } else {
      _mm512_mask_storeu_epi8(dst, Mask(count), bytes);
    }
  }
  template <int kVectors, int kPart>
  static void StorePart(Vector bytes, uint8_t* dst, int64_t count) {
    if constexpr (kVectors == 2) {
      const __m256i part = _mm512_extracti64x4_epi64(bytes, kPart);
      if (count >= 32) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), part);
      } else {
        _mm256_mask_storeu_epi8(dst, static_cast<__mmask32>(Mask(count)), part);
      }
    } else {
      const __m128i part = _mm512_extracti32x4_epi32(bytes, kPart);
      if (count >= 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), part);
      } else {
        _mm_mask_storeu_epi8(dst, static_cast<__mmask16>(Mask(count)), part);
      }
    }
  }

 private:
  static __mmask64 Mask(int64_t count) { return (uint64_t{1} << count) - 1; }
};

struct Widened512 {
  static __m512i Add(__m512i sums, __m512i bytes, __m512i weights) {
    const __m512i even = _mm512_madd_epi16(_mm512_and_si512(bytes, _mm512_set1_epi16(0xff)),
                                           _mm512_srai_epi16(_mm512_slli_epi16(weights, 8), 8));
    const __m512i odd =
        _mm512_madd_epi16(_mm512_srli_epi16(bytes, 8), _mm512_srai_epi16(weights, 8));
    return _mm512_add_epi32(_mm512_add_epi32(sums, even), odd);
  }
};

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_VECTORS_512_H_
