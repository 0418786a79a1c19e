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
  static void StoreHalves(Vectors<16>::Vector value, char* to) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh((__m512)value));
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
