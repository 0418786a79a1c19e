// AVX512_BF16's dot products in AVX2, with the hardware's bits except of subnormal numbers, which
// the hardware takes for zeros. Only for tests, on processors without them.
#include <immintrin.h>

#include "runtime/cpu/amx/dots_code.h"
#include "runtime/cpu/host_processor.h"

namespace ashlar::cpu {
namespace {

struct EmulatedDots {
  struct Vector {
    __m256 half[2];
  };
  struct Weights {
    __m256i half[2];
  };
  static Vector Load(const void* from) {
    const auto* const floats = static_cast<const float*>(from);
    return {{_mm256_loadu_ps(floats), _mm256_loadu_ps(floats + 8)}};
  }
  static void Store(const Vector& value, void* to) {
    for (int i = 0; i < 2; ++i) _mm256_storeu_ps(static_cast<float*>(to) + 8 * i, value.half[i]);
  }
  static Vector Broadcast(float value) { return {{_mm256_set1_ps(value), _mm256_set1_ps(value)}}; }
  static Vector LoadHalves(const void* from) {
    const auto* const halves = static_cast<const char*>(from);
    return {{BFloat16Vectors<8>::Load(halves), BFloat16Vectors<8>::Load(halves + 16)}};
  }
  static void StoreHalves(const Vector& value, void* to) {
    for (int i = 0; i < 2; ++i) {
      BFloat16Vectors<8>::Store(value.half[i], static_cast<char*>(to) + 16 * i);
    }
  }
  static Vector Sum(const Vector& a, const Vector& b) {
    return {{_mm256_add_ps(a.half[0], b.half[0]), _mm256_add_ps(a.half[1], b.half[1])}};
  }
  static Vector Bound(const Vector& value, const Vector& least, const Vector& most) {
    Vector result;
    for (int i = 0; i < 2; ++i) {
      result.half[i] = _mm256_min_ps(most.half[i], _mm256_max_ps(least.half[i], value.half[i]));
    }
    return result;
  }
  static Weights LoadWeights(const void* from) {
    const auto* const words = static_cast<const __m256i*>(from);
    return {{_mm256_loadu_si256(words), _mm256_loadu_si256(words + 1)}};
  }
  static __m256i Repeat(const void* from) {
    int32_t pair;
    __builtin_memcpy(&pair, from, sizeof(pair));
    return _mm256_set1_epi32(pair);
  }
  static Vector Add(const Vector& sums, __m256i pair, const Weights& weights) {
    const auto even = [](__m256i v) { return _mm256_castsi256_ps(_mm256_slli_epi32(v, 16)); };
    const auto odd = [](__m256i v) {
      return _mm256_castsi256_ps(
          _mm256_and_si256(v, _mm256_set1_epi32(static_cast<int>(0xffff0000u))));
    };
    Vector result;
    for (int i = 0; i < 2; ++i) {
      const __m256i w = weights.half[i];
      result.half[i] = _mm256_fmadd_ps(odd(pair), odd(w), sums.half[i]);
      result.half[i] = _mm256_fmadd_ps(even(pair), even(w), result.half[i]);
    }
    return result;
  }
};

absl::Status NoRequest() { return absl::OkStatus(); }

constexpr AmxCode kDotEmulation = MakeDotCode<EmulatedDots, Vectors<8>>(Isa::kAvx2, NoRequest);

}  // namespace

extern const AmxCode kDotInstructions;

const AmxCode& DotCodeHere() { return HostProcessor().bf16 ? kDotInstructions : kDotEmulation; }

}  // namespace ashlar::cpu
