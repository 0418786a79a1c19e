// Compiled with AVX-512's flags: see CMakeLists.txt.
#include "runtime/cpu/matrix_halves_code.h"

namespace ashlar::cpu {

#define ASHLAR_TILES(Format)                                                                      \
  {                                                                                               \
    nullptr, HalvesTile<Format, 16, 1, 4>, HalvesTile<Format, 16, 2, 4>,                          \
        HalvesTile<Format, 16, 3, 4>, HalvesTile<Format, 16, 4, 3>, HalvesTile<Format, 16, 5, 2>, \
        HalvesTile<Format, 16, 6, 2>                                                              \
  }
const MatrixTileFunction kHalvesTilesAvx512[2][kHalvesRowsAvx512] = {ASHLAR_TILES(Float16Vectors),
                                                                     ASHLAR_TILES(BFloat16Vectors)};
#undef ASHLAR_TILES

}  // namespace ashlar::cpu
