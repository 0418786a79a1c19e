// AVX-512's tile without VNNI: 20 sums, the halves of two vectors of weights and of one vector of
// input.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_256.h"
#include "runtime/cpu/quantized/vectors_512.h"

namespace ashlar::cpu {

extern const TileCode kTileAvx512;
const TileCode kTileAvx512 = MakeTileCode<Vectors512<Widened512>, 10, 2, Vectors256<Widened256>>();

}  // namespace ashlar::cpu
