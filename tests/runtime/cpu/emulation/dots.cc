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
  static void StoreHalves(Vectors<8>::Vector value, char* to) {
    BFloat16Vectors<8>::Store(value, to);
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
