// Tiles of matrix products whose B is of Float16, by instruction set.
#ifndef ASHLAR_RUNTIME_CPU_MATRIX_HALVES_H_
#define ASHLAR_RUNTIME_CPU_MATRIX_HALVES_H_

#include "runtime/cpu/matrix_tile.h"

namespace ashlar::cpu {

// By rows, as many panels as WideMatrixTileFor has; null where one is as good.
inline constexpr int kHalvesRowsAvx2 = 4, kHalvesRowsAvx512 = 7;
extern const MatrixTileFunction kHalvesTilesAvx2[kHalvesRowsAvx2];
extern const MatrixTileFunction kHalvesTilesAvx512[kHalvesRowsAvx512];

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MATRIX_HALVES_H_
