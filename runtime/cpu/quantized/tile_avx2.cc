// AVX2's tile: 8 sums, the halves of two vectors of weights and of one vector of input in 14 of 16
// registers.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_256.h"

namespace ashlar::cpu {

extern const TileCode kTileAvx2;
const TileCode kTileAvx2 = MakeTileCode<Vectors256<Widened256>, 4, 1>();

}  // namespace ashlar::cpu
