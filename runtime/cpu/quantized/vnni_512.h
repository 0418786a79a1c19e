// Sums of byte products by AVX512-VNNI, in 512-bit and 256-bit vectors.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_VNNI_512_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_VNNI_512_H_

#include <immintrin.h>

namespace ashlar::cpu {
namespace {  // compiled for several instruction sets

struct Avx512Vnni {
  static __m512i Add(__m512i sums, __m512i bytes, __m512i weights) {
    return _mm512_dpbusd_epi32(sums, bytes, weights);
  }
  static __m256i Add(__m256i sums, __m256i bytes, __m256i weights) {
    return _mm256_dpbusd_epi32(sums, bytes, weights);
  }
};

}  // namespace
}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_VNNI_512_H_
