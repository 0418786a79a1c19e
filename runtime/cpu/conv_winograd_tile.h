// The transforms of Winograd's convolution, F(m x m, 3 x 3): one patch of m + 2 by m + 2 pixels by
// one block of 16 channels. As conv_tile.h: plain data, code for each instruction set in its own
// file.
#ifndef ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_
#define ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_

#include <cstdint>

#include "runtime/cpu/conv_tile.h"

namespace ashlar {

// F(4 x 4) interpolates at 0, +-kWinogradA, +-kWinogradB and infinity. With 1 / sqrt(2) and sqrt(2)
// the rounding errors are less than half of those with the usual 1 and 2.
inline constexpr double kWinogradA = 0.70710678118654752440, kWinogradB = 1.41421356237309504880;

// Steps are in bytes.
struct WinogradInput {
  const char* src;  // the patch's first pixel; of the patch, rows [row_begin, row_end) and columns
                    // [column_begin, column_end) lie inside the image, the others are zero
  int64_t row_step, column_step;
  int row_begin, row_end, column_begin, column_end;
  char* to;  // the (m + 2)^2 transformed values, row by row
  int64_t to_step;
};

struct WinogradOutput {
  const char* from;  // the (m + 2)^2 products, row by row
  int64_t from_step;
  const float* bias;  // of the block
  const char* z;      // may be null, or dst
  int64_t z_row_step, z_column_step;
  char* dst;
  int64_t dst_row_step, dst_column_step;
  int rows, columns;  // of the m x m outputs, those that exist
  ConvFinish finish;
  int channels;  // of the block that exist
};

struct WinogradCode {
  void (*input)(const WinogradInput& patch);
  void (*output)(const WinogradOutput& patch);
};

// [0]: F(2 x 2), [1]: F(4 x 4).
extern const WinogradCode kWinogradAvx512[2], kWinogradAvx2[2];

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_
