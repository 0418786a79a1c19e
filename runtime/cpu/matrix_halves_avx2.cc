// Compiled with AVX2's flags: see CMakeLists.txt.
#include "runtime/cpu/matrix_halves_code.h"

namespace ashlar::cpu {

const MatrixTileFunction kHalvesTilesAvx2[kHalvesRowsAvx2] = {
    nullptr, HalvesTile<8, 1, 4>, HalvesTile<8, 2, 3>, HalvesTile<8, 3, 2>};

}  // namespace ashlar::cpu
