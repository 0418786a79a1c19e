// The inner loop of matrix products: a few rows of A times a packed panel of B, sums in registers
// (the micro-kernel of Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix
// Multiplication").
#ifndef ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_
#define ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_

#include <cstdint>

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// Adds to `rows` rows of C, `c_pitch` apart and a panel wide, the product of as many rows of A,
// `a_pitch` apart and `depth` long, and a panel of B: `depth` rows of the panel's columns, one
// after another. All in elements.
using MatrixTileFunction = void (*)(const float* a, int64_t a_pitch, const float* b, int64_t depth,
                                    float* c, int64_t c_pitch);

// How many columns a panel has, and how many rows of A are taken at a time, so that all sums stay
// in the registers.
struct MatrixTiling {
  int64_t panel = 0;
  int64_t max_rows = 0;
};
MatrixTiling MatrixTilingFor(Isa isa);

// For `rows` in [1, max_rows].
MatrixTileFunction MatrixTileFor(Isa isa, int64_t rows);

// The same for the last panel, which may have fewer `columns`, and for any number of rows.
using NarrowMatrixTileFunction = void (*)(const float* a, int64_t a_pitch, int64_t rows,
                                          const float* b, int64_t depth, int64_t columns, float* c,
                                          int64_t c_pitch);
NarrowMatrixTileFunction NarrowMatrixTileFor(Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_
