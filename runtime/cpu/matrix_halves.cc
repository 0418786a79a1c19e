#include "runtime/cpu/matrix_halves.h"

namespace ashlar::cpu {

MatrixTileFunction WideHalvesTileFor([[maybe_unused]] Isa isa, [[maybe_unused]] int64_t rows,
                                     [[maybe_unused]] DType dtype) {
#if defined(__x86_64__)
  const bool bfloat16 = dtype == DType::kBFloat16;
  if (isa == Isa::kAvx512 && rows < kHalvesRowsAvx512) return kHalvesTilesAvx512[bfloat16][rows];
  if (isa == Isa::kAvx2 && rows < kHalvesRowsAvx2) return kHalvesTilesAvx2[bfloat16][rows];
#endif
  return nullptr;
}

}  // namespace ashlar::cpu
