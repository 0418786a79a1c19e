// Tiles of matrix products whose B is of 16-bit floats, by instruction set.
#ifndef ASHLAR_RUNTIME_CPU_MATRIX_HALVES_H_
#define ASHLAR_RUNTIME_CPU_MATRIX_HALVES_H_

#include "runtime/cpu/matrix_tile.h"

namespace ashlar::cpu {

// Indexed by rows, after whether B is BFloat16 instead of Float16. Each uses the number of panels
// of WideMatrixTileFor; null if a single panel is as fast.
inline constexpr int kHalvesRowsAvx2 = 4, kHalvesRowsAvx512 = 7;
extern const MatrixTileFunction kHalvesTilesAvx2[2][kHalvesRowsAvx2];
extern const MatrixTileFunction kHalvesTilesAvx512[2][kHalvesRowsAvx512];

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MATRIX_HALVES_H_
