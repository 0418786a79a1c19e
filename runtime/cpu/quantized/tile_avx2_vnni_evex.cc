// The AVX-VNNI tile in the encoding of AVX512-VNNI. Some processors have only the latter; plans for
// AVX-VNNI run there too.
#include "runtime/cpu/quantized/tile_code.h"
#include "runtime/cpu/quantized/vectors_256.h"
#include "runtime/cpu/quantized/vnni_512.h"

namespace ashlar::cpu {
extern const TileCode kTileAvx2VnniEvex;
const TileCode kTileAvx2VnniEvex = MakeTileCode<Vectors256<Avx512Vnni>, 6, 1>();

}  // namespace ashlar::cpu
