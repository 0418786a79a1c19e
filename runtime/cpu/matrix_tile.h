// The inner loop of matrix products: a few rows of A times a panel of B, with sums in registers.
// This is the micro-kernel of Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix
// Multiplication".
#ifndef ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_
#define ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_

#include <cstdint>

#include "graph/dtype.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// A matrix in memory. Strides are in elements; either may be 1.
struct MatrixView {
  const float* data = nullptr;
  int64_t row = 0, column = 0;  // between rows, between columns

  MatrixView At(int64_t i, int64_t j) const { return {data + i * row + j * column, row, column}; }
};

// The arguments of a tile: some rows of C, one panel wide (or several adjacent panels). They are
// the product of as many rows of A and a panel of B. Steps are in elements.
struct MatrixTile {
  MatrixView a = {};               // `depth` columns
  const float* b = nullptr;        // `depth` rows; the panel's columns are adjacent
  int64_t b_row = 0, b_panel = 0;  // between rows, between panels
  int64_t depth = 0;               // products per sum, at least 1
  float* c = nullptr;              // elements of a row are adjacent
  int64_t c_row = 0;               // between rows
  bool add = false;                // adds to C instead of overwriting it
  // Addresses to prefetch into the second-level cache meanwhile. From each panel they advance by
  // prefetch_step bytes per row of B.
  const char* prefetch = nullptr;
  int64_t prefetch_step = 0;
};
using MatrixTileFunction = void (*)(const MatrixTile& tile);

// The columns of a panel, and the rows of A per tile. All sums fit in the registers.
struct MatrixTiling {
  int64_t panel = 0;
  int64_t max_rows = 0;
};
MatrixTiling MatrixTilingFor(Isa isa);
inline constexpr int64_t kWidestPanel = 32;
inline constexpr int64_t kMostTileRows = 12;

// Returns the function for `rows` in [1, max_rows] and one panel.
MatrixTileFunction MatrixTileFor(Isa isa, int64_t rows);
// The same for half a panel, for the last columns.
MatrixTileFunction HalfMatrixTileFor(Isa isa, int64_t rows);

// A tile for so few rows that the sums of one panel do not occupy the processor. It computes
// `panels` panels at once, or 1 if `rows` suffice.
struct WideMatrixTile {
  int64_t panels = 1;
  MatrixTileFunction run = nullptr;
};
WideMatrixTile WideMatrixTileFor(Isa isa, int64_t rows);
// The same, with bit-identical results, for panels of 16-bit floats at MatrixTile::b. Steps count
// their elements; nothing is prefetched. Null if the processor has no such loop, or if one panel is
// as fast.
MatrixTileFunction WideHalvesTileFor(Isa isa, int64_t rows, DType dtype);

// Writes `rows` rows of the first `columns` columns of a matrix as rows of a panel of `width`
// elements, padded with zeros.
using PackPanelFunction = void (*)(const MatrixView& from, int64_t rows, int64_t columns,
                                   int64_t width, float* to);
PackPanelFunction PackPanelFor(Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_
