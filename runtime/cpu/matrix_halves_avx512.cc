// Compiled with AVX-512's flags: see CMakeLists.txt.
#include "runtime/cpu/matrix_halves_code.h"

namespace ashlar::cpu {

const MatrixTileFunction kHalvesTilesAvx512[kHalvesRowsAvx512] = {nullptr,
                                                                  HalvesTile<16, 1, 4>,
                                                                  HalvesTile<16, 2, 4>,
                                                                  HalvesTile<16, 3, 4>,
                                                                  HalvesTile<16, 4, 3>,
                                                                  HalvesTile<16, 5, 2>,
                                                                  HalvesTile<16, 6, 2>};

}  // namespace ashlar::cpu
