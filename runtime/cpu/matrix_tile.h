// The inner loop of matrix products: a few rows of A times a panel of B, sums in registers (the
// micro-kernel of Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix
// Multiplication").
#ifndef ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_
#define ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_

#include <cstdint>

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// A matrix in memory: strides in elements, either of which may be 1.
struct MatrixView {
  const float* data = nullptr;
  int64_t row = 0, column = 0;  // from row to row, from column to column

  MatrixView At(int64_t i, int64_t j) const { return {data + i * row + j * column, row, column}; }
};

// Some rows of C, a panel wide: the product of as many rows of A and a panel of B. Or some panels
// beside each other. Steps are in elements.
struct MatrixTile {
  MatrixView a = {};               // `depth` columns
  const float* b = nullptr;        // `depth` rows of the panel's columns, which lie side by side
  int64_t b_row = 0, b_panel = 0;  // from row to row, from panel to panel
  int64_t depth = 0;               // of the sums, 1 or more
  float* c = nullptr;              // elements of a row lie side by side
  int64_t c_row = 0;               // from row to row
  bool add = false;                // to the elements of C, which else are overwritten
  // The addresses fetched into the second-level cache meanwhile, from each panel: for each row of B
  // so many bytes on.
  const char* prefetch = nullptr;
  int64_t prefetch_step = 0;
};
using MatrixTileFunction = void (*)(const MatrixTile& tile);

// How many columns a panel has, and how many rows of A are taken at a time, so that all sums stay
// in the registers.
struct MatrixTiling {
  int64_t panel = 0;
  int64_t max_rows = 0;
};
MatrixTiling MatrixTilingFor(Isa isa);
inline constexpr int64_t kWidestPanel = 32;
inline constexpr int64_t kMostTileRows = 12;

// For `rows` in [1, max_rows], one panel.
MatrixTileFunction MatrixTileFor(Isa isa, int64_t rows);
// The same for half a panel: the last columns may be no more.
MatrixTileFunction HalfMatrixTileFor(Isa isa, int64_t rows);

// For so few rows that one panel has fewer sums than the processor adds to at a time, `panels` of
// them at once; 1 where `rows` are enough.
struct WideMatrixTile {
  int64_t panels = 1;
  MatrixTileFunction run = nullptr;
};
WideMatrixTile WideMatrixTileFor(Isa isa, int64_t rows);
// The same, with the same bits, for panels of Float16 at MatrixTile::b, steps in elements of these;
// nothing is fetched ahead. Null where the processor has no such loop, or one panel is as good.
MatrixTileFunction WideHalvesTileFor(Isa isa, int64_t rows);

// Writes `rows` rows of the first `columns` columns of a matrix as rows of a panel of `width`
// elements, zeros behind the columns.
using PackPanelFunction = void (*)(const MatrixView& from, int64_t rows, int64_t columns,
                                   int64_t width, float* to);
PackPanelFunction PackPanelFor(Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_MATRIX_TILE_H_
