// The tile of AVX-VNNI in the encoding of AVX512-VNNI, which some processors have alone: plans for
// the former run there, too.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_256.h"

namespace ashlar::cpu {
namespace {

struct Avx512Vnni256 {
  static __m256i Add(__m256i sums, __m256i bytes, __m256i weights) {
    return _mm256_dpbusd_epi32(sums, bytes, weights);
  }
};

}  // namespace

extern const TileCode kTileAvx2VnniEvex;
const TileCode kTileAvx2VnniEvex = MakeTileCode<Vectors256<Avx512Vnni256>, 6, 1>();

}  // namespace ashlar::cpu
