// Products of BFloat16 by AVX512_BF16's instruction.
#include <immintrin.h>

#include "runtime/cpu/amx/dots_code.h"

namespace ashlar::cpu {
namespace {

struct Dots {
  using Vector = __m512;
  using Weights = __m512bh;
  static Vector Load(const void* from) { return _mm512_loadu_ps(from); }
  static void Store(Vector value, void* to) { _mm512_storeu_ps(to, value); }
  static Vector Broadcast(float value) { return _mm512_set1_ps(value); }
  static Vector LoadHalves(const void* from) {
    const __m256i halves = _mm256_loadu_si256(static_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static void StoreHalves(Vector value, void* to) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(value));
  }
  static Vector Sum(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  // Both instructions return their second operand if either is no number.
  static Vector Bound(Vector value, Vector least, Vector most) {
    return _mm512_min_ps(most, _mm512_max_ps(least, value));
  }
  static Weights LoadWeights(const void* from) { return (__m512bh)_mm512_loadu_si512(from); }
  static Weights Repeat(const void* from) {
    int32_t pair;
    __builtin_memcpy(&pair, from, sizeof(pair));
    return (__m512bh)_mm512_set1_epi32(pair);
  }
  [[gnu::always_inline]] static Vector Add(Vector sums, Weights pair, Weights weights) {
    return _mm512_dpbf16_ps(sums, pair, weights);
  }
};

absl::Status NothingToRequest() { return absl::OkStatus(); }

}  // namespace

extern const AmxCode kDotInstructions;
const AmxCode kDotInstructions = MakeDotCode<Dots, Vectors<16>>(Isa::kAvx512, NothingToRequest);

}  // namespace ashlar::cpu
