// AVX512-VNNI's tile: 28 sums, two vectors of weights and one of input in 31 of 32 registers.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_256.h"
#include "runtime/cpu/quantized/vectors_512.h"
#include "runtime/cpu/quantized/vnni_512.h"

namespace ashlar::cpu {
extern const TileCode kTileAvx512Vnni;
const TileCode kTileAvx512Vnni =
    MakeTileCode<Vectors512<Avx512Vnni>, 14, 2, Vectors256<Avx512Vnni>>();

}  // namespace ashlar::cpu
