// 256-bit vectors for tile_code.h. `Multiply` is a struct with
//   static __m256i Add(sums, unsigned bytes, signed bytes)
// that adds the four products of each 32 bits without saturation.
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
  static constexpr bool kSigned = false;

  // Returns the lanes of `count` channels, which may be 0.
  using Lanes = int64_t;
  static Lanes LanesOf(int64_t count) { return count; }

  static Vector Load(const void* data) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(data));
  }
  // Loads `count` bytes, at most kBytes; reads nothing after them.
  static Vector LoadSome(const uint8_t* data, int64_t count) {
    if (count >= kBytes) return Load(data);
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    return _mm256_maskz_loadu_epi8(static_cast<__mmask32>((uint64_t{1} << count) - 1), data);
#else
    if (count < 16) return _mm256_zextsi128_si256(LoadFewer(data, count));
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(first), LoadFewer(data + 16, count - 16),
                                   1);
#endif
  }
  // Loads 16 bytes each from `quads` places, one or two, `step` bytes apart; the rest is 0.
  static Vector LoadQuads(const void* data, int64_t step, int64_t quads) {
    const auto quad = [&](int64_t i) {
      return _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(static_cast<const char*>(data) + i * step));
    };
    const Vector vector = _mm256_zextsi128_si256(quad(0));
    return quads > 1 ? _mm256_inserti128_si256(vector, quad(1), 1) : vector;
  }
  // Returns the same vector, but hides its origin from the compiler.
  static Vector Apart(Vector vector) {
    asm("" : "+x"(vector));
    return vector;
  }
  static Vector Broadcast(uint32_t bytes) { return _mm256_set1_epi32(static_cast<int>(bytes)); }
  static Vector FlipBy(Vector bytes, uint32_t flip) {
    return _mm256_xor_si256(bytes, Broadcast(flip));
  }
  static Vector Flip(Vector bytes) { return FlipBy(bytes, 0x80808080); }
  static Vector Add(Vector sums, Vector bytes, Vector weights) {
    return Multiply::Add(sums, bytes, weights);
  }

  // A table of 256 bytes as 16 rows, each in both halves of a vector. A byte's upper half names its
  // row: elsewhere the index exceeds 127, and the shuffle gives 0.
  struct Table {
    Vector rows[16];

    explicit Table(const uint8_t* bytes) {
      for (int i = 0; i < 16; ++i) {
        rows[i] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i));
      }
    }
    Vector Of(Vector bytes) const {
      Vector found = _mm256_setzero_si256();
      for (int i = 0; i < 16; ++i) {
        const Vector own = _mm256_xor_si256(bytes, _mm256_set1_epi8(static_cast<char>(i << 4)));
        const Vector index = _mm256_adds_epu8(own, _mm256_set1_epi8(0x70));
        found = _mm256_or_si256(found, _mm256_shuffle_epi8(rows[i], index));
      }
      return found;
    }
  };

  // Interleaves within each 128 bits.
  static Vector LowBytes(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
  static Vector HighBytes(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
  static Vector LowPairs(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
  static Vector HighPairs(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }

  using Floats = __m256;
  static Floats All(float value) { return _mm256_set1_ps(value); }
  static Floats LoadFloats(const float* data) { return _mm256_loadu_ps(data); }
  static Floats ToFloats(Vector integers) { return _mm256_cvtepi32_ps(integers); }
  // If an operand is NaN, both return the second one.
  static Floats Min(Floats a, Floats b) { return _mm256_min_ps(a, b); }
  static Floats Max(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  static Floats MulAdd(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats Nearest(Floats values) {
    return _mm256_round_ps(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  // Loads the existing bytes of a vector's channels, xors each with `flip`, and converts to
  // Float32.
  static Floats BytesAsFloats(const uint8_t* data, Lanes lanes, uint8_t flip) {
    const __m128i bytes =
        _mm_xor_si128(LoadLanes(data, lanes), _mm_set1_epi8(static_cast<char>(flip)));
    return ToFloats(_mm256_cvtepu8_epi32(bytes));
  }
  // Returns the larger magnitude; `magnitude` is already one.
  static Floats Farther(Floats value, Floats magnitude) {
    return _mm256_max_ps(magnitude, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), value));
  }
  static bool AnyAbove(Floats values, float bound) {
    return _mm256_movemask_ps(_mm256_cmp_ps(values, All(bound), _CMP_GT_OQ)) != 0;
  }
  // Converts four vectors of steps from the zero point, below 31 bits, to bytes. The bytes of each
  // 128-bit lane are adjacent. NaN becomes the least integer; packing to 16 bits saturates.
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
  // Reorders bytes: all of the first vector, then of the second, and so on.
  static Vector InOrder(Vector bytes) {
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  static void StoreSome(Vector bytes, uint8_t* dst, int64_t count) {
    if (count >= kBytes) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), bytes);
      return;
    }
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    _mm256_mask_storeu_epi8(dst, static_cast<__mmask32>((uint64_t{1} << count) - 1), bytes);
#else
    const __m128i first = _mm256_castsi256_si128(bytes);
    if (count < 16) return StoreFewer(first, dst, count);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), first);
    StoreFewer(_mm256_extracti128_si256(bytes, 1), dst + 16, count - 16);
#endif
  }
  // Stores part kPart of the bytes of four vectors; each part belongs to kVectors vectors.
  template <int kVectors, int kPart>
  static void StorePart(Vector bytes, uint8_t* dst, int64_t count) {
    static_assert(kVectors == 2);
    const __m128i part = _mm256_extracti128_si256(bytes, kPart);
    if (count >= 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), part);
    } else {
      StoreFewer(part, dst, count);
    }
  }

 private:
  // Loads kLanes bytes if `count` is that large, otherwise `count` bytes.
  static __m128i LoadLanes(const uint8_t* data, int64_t count) {
    if (count >= kLanes) return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(data));
    return LoadFewer(data, count);
  }

  template <typename T>
  static uint64_t Read(const uint8_t* data) {
    T bytes;
    __builtin_memcpy(&bytes, data, sizeof(T));
    return bytes;
  }
  template <typename T>
  static void Write(uint8_t* dst, uint64_t bytes) {
    const auto some = static_cast<T>(bytes);
    __builtin_memcpy(dst, &some, sizeof(T));
  }
  // Loads `count` bytes, below 16, by two reads that overlap: memory that was just written in
  // smaller pieces would be read late.
  static __m128i LoadFewer(const uint8_t* data, int64_t count) {
    uint64_t low = 0, high = 0;
    if (count > 8) {
      low = Read<uint64_t>(data);
      high = Read<uint64_t>(data + count - 8) >> (8 * (16 - count));
    } else if (count == 8) {
      low = Read<uint64_t>(data);
    } else if (count >= 4) {
      low = Read<uint32_t>(data) | Read<uint32_t>(data + count - 4) << (8 * (count - 4));
    } else if (count > 0) {
      low = Read<uint8_t>(data) | Read<uint8_t>(data + count / 2) << (8 * (count / 2)) |
            Read<uint8_t>(data + count - 1) << (8 * (count - 1));
    }
    return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
  }
  // Stores `count` bytes, below 16, likewise.
  static void StoreFewer(__m128i bytes, uint8_t* dst, int64_t count) {
    const auto low = static_cast<uint64_t>(_mm_cvtsi128_si64(bytes));
    if (count >= 8) {
      Write<uint64_t>(dst, low);
      if (count == 8) return;
      const auto high = static_cast<uint64_t>(_mm_extract_epi64(bytes, 1));
      const int64_t shift = 8 * (count - 8);
      Write<uint64_t>(dst + count - 8, low >> shift | high << (64 - shift));
    } else if (count >= 4) {
      Write<uint32_t>(dst, low);
      Write<uint32_t>(dst + count - 4, low >> (8 * (count - 4)));
    } else if (count > 0) {
      Write<uint8_t>(dst, low);
      Write<uint8_t>(dst + count / 2, low >> (8 * (count / 2)));
      Write<uint8_t>(dst + count - 1, low >> (8 * (count - 1)));
    }
  }
};

// A Multiply that widens even and odd bytes to 16 bits; vpmaddwd then adds pairs of products in 32
// bits. (vpmaddubsw, which multiplies bytes, would saturate.)
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
