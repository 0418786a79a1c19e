// Vectors of floats, loaded from Float32 or Float16, for files that are compiled once per
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

// A vector of kWidth floats.
template <int kWidth>
struct VectorOf;
template <>
struct VectorOf<16> {
  typedef float Type __attribute__((vector_size(64)));
  typedef float Unaligned __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct VectorOf<8> {
  typedef float Type __attribute__((vector_size(32)));
  typedef float Unaligned __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct VectorOf<4> {
  typedef float Type __attribute__((vector_size(16)));
  typedef float Unaligned __attribute__((vector_size(16), aligned(4), may_alias));
};

// The same vectors, stored in memory as Float16.
template <int kWidth>
struct Float16Vectors {
  using Vector = typename VectorOf<kWidth>::Type;
  static constexpr int kBytes = kWidth * 2;
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

  static void ClearPadding(int channels, char* block) {
    for (int lane = channels; lane < kBlock; ++lane) {
      block[2 * lane] = block[2 * lane + 1] = 0;
    }
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

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FLOAT16_VECTORS_H_
