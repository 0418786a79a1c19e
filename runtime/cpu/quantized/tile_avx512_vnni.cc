// AVX512-VNNI's tile: 28 sums, two vectors of weights and one of input in 31 of 32 registers.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_256.h"
#include "runtime/cpu/quantized/vectors_512.h"

namespace ashlar::cpu {
namespace {

struct Avx512Vnni {
  static __m512i Add(__m512i sums, __m512i bytes, __m512i weights) {
    return _mm512_dpbusd_epi32(sums, bytes, weights);
  }
  static __m256i Add(__m256i sums, __m256i bytes, __m256i weights) {
    return _mm256_dpbusd_epi32(sums, bytes, weights);
  }
};

}  // namespace

extern const TileCode kTileAvx512Vnni;
const TileCode kTileAvx512Vnni =
    MakeTileCode<Vectors512<Avx512Vnni>, 14, 2, Vectors256<Avx512Vnni>>();

}  // namespace ashlar::cpu
