// AVX-VNNI's tile: 12 sums, two vectors of weights and one of input in 15 of 16 registers.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_256.h"

namespace ashlar::cpu {
namespace {

struct AvxVnni {
  static __m256i Add(__m256i sums, __m256i bytes, __m256i weights) {
    return _mm256_dpbusd_avx_epi32(sums, bytes, weights);
  }
};

}  // namespace

extern const TileCode kTileAvx2Vnni;
const TileCode kTileAvx2Vnni = MakeTileCode<Vectors256<AvxVnni>, 6, 1>();

}  // namespace ashlar::cpu
