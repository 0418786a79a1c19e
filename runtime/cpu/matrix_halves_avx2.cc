// Compiled with AVX2's flags: see CMakeLists.txt.
#include "runtime/cpu/matrix_halves_code.h"

namespace ashlar::cpu {

#define ASHLAR_TILES(Format) \
  { nullptr, HalvesTile<Format, 8, 1, 4>, HalvesTile<Format, 8, 2, 3>, HalvesTile<Format, 8, 3, 2> }
const MatrixTileFunction kHalvesTilesAvx2[2][kHalvesRowsAvx2] = {ASHLAR_TILES(Float16Vectors),
                                                                 ASHLAR_TILES(BFloat16Vectors)};
#undef ASHLAR_TILES

}  // namespace ashlar::cpu
