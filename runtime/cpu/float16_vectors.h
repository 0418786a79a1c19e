// Vectors of floats, stored in memory as 16-bit floats, for files that are compiled once per
// instruction set. Everything is in an unnamed namespace, so that the linker cannot share code
// between these files.
#ifndef ASHLAR_RUNTIME_CPU_FLOAT16_VECTORS_H_
#define ASHLAR_RUNTIME_CPU_FLOAT16_VECTORS_H_

#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "graph/half.h"

namespace ashlar::cpu {
namespace {

constexpr int kBlock = 16;  // channels

// A vector of kWidth floats, the same as integers, and as many of 16 bits.
template <int kWidth>
struct VectorOf;
template <>
struct VectorOf<16> {
  typedef float Type __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
  typedef uint32_t Bits __attribute__((vector_size(64)));
  typedef uint16_t Halves __attribute__((vector_size(32)));
  typedef uint16_t UnalignedHalves __attribute__((vector_size(32), aligned(2), may_alias));
};
template <>
struct VectorOf<8> {
  typedef float Type __attribute__((vector_size(32)));
  typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
  typedef uint32_t Bits __attribute__((vector_size(32)));
  typedef uint16_t Halves __attribute__((vector_size(16)));
  typedef uint16_t UnalignedHalves __attribute__((vector_size(16), aligned(2), may_alias));
};
template <>
struct VectorOf<4> {
  typedef float Type __attribute__((vector_size(16)));
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
  typedef uint32_t Bits __attribute__((vector_size(16)));
  typedef uint16_t Halves __attribute__((vector_size(8)));
  typedef uint16_t UnalignedHalves __attribute__((vector_size(8), aligned(2), may_alias));
};

// The common part of both 16-bit storage formats.
template <int kWidth>
struct VectorsOf16Bits {
  using Vector = typename VectorOf<kWidth>::Type;
  static constexpr int kBytes = kWidth * 2;

  static void ClearPadding(int channels, char* block) {
    for (int lane = channels; lane < kBlock; ++lane) {
      block[2 * lane] = block[2 * lane + 1] = 0;
    }
  }
};

// The same vectors, stored in memory as Float16.
template <int kWidth>
struct Float16Vectors : VectorsOf16Bits<kWidth> {
  using Vector = typename VectorOf<kWidth>::Type;
#if defined(__F16C__)
  static constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
#endif

  [[gnu::always_inline]] static Vector Load(const char* from) {
#if defined(__F16C__) && defined(__AVX512F__)
    if constexpr (kWidth == 16) {
      return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    }
#endif
#if defined(__F16C__)
    if constexpr (kWidth == 8) {
      return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
    }
#endif
    Vector value;
    for (int i = 0; i < kWidth; ++i) value[i] = LoadOne(from + 2 * i);
    return value;
  }
  [[gnu::always_inline]] static void Store(Vector value, char* to) {
#if defined(__F16C__) && defined(__AVX512F__)
    if constexpr (kWidth == 16) {
      return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(value, kNearest));
    }
#endif
#if defined(__F16C__)
    if constexpr (kWidth == 8) {
      return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(value, kNearest));
    }
#endif
    for (int i = 0; i < kWidth; ++i) StoreOne(value[i], to + 2 * i);
  }

 private:
#if defined(__aarch64__)
  using Half [[gnu::may_alias]] = __fp16;
  static float LoadOne(const char* from) {
    return static_cast<float>(*reinterpret_cast<const Half*>(from));
  }
  static void StoreOne(float value, char* to) {
    *reinterpret_cast<Half*>(to) = static_cast<__fp16>(value);
  }
#else
  using Half [[gnu::may_alias]] = uint16_t;
  static float LoadOne(const char* from) {
    return HalfToFloat(*reinterpret_cast<const Half*>(from));
  }
  static void StoreOne(float value, char* to) { *reinterpret_cast<Half*>(to) = FloatToHalf(value); }
#endif
};

// The same for BFloat16, the upper half of a Float32: rounds to the nearest, ties to even, and
// keeps NaN as a quiet NaN.
template <int kWidth>
struct BFloat16Vectors : VectorsOf16Bits<kWidth> {
  using Vector = typename VectorOf<kWidth>::Type;
  using Bits = typename VectorOf<kWidth>::Bits;
  using Halves = typename VectorOf<kWidth>::Halves;
  using Stored = typename VectorOf<kWidth>::UnalignedHalves;

  [[gnu::always_inline]] static Vector Load(const char* from) {
    // GCC's vectors would be widened by halves.
#if defined(__AVX512F__)
    if constexpr (kWidth == 16) {
      const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    }
#endif
#if defined(__AVX2__)
    if constexpr (kWidth == 8) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    }
#endif
    const Halves halves = *reinterpret_cast<const Stored*>(from);
    return reinterpret_cast<Vector>(__builtin_convertvector(halves, Bits) << 16);
  }
  [[gnu::always_inline]] static void Store(Vector value, char* to) {
    constexpr uint32_t kQuiet = 0x400000;
    const Bits bits = reinterpret_cast<Bits>(value);
    const Bits rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const Bits kept = value != value ? bits | kQuiet : rounded;
    *reinterpret_cast<Stored*>(to) = __builtin_convertvector(kept >> 16, Halves);
  }
};

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FLOAT16_VECTORS_H_
