// The transforms of Winograd's convolution, F(m x m, 3 x 3) (winograd.h): one patch of m + 2 by m +
// 2 pixels by one block of 16 channels. As tile.h: plain data, code for each instruction set in its
// own file.
#ifndef ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_
#define ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_

#include <cstdint>

#include "runtime/cpu/conv/tile.h"

namespace ashlar::cpu {

// F(m x m) for m > 2 interpolates at +-a, +-b and infinity, F(4 x 4) at 0 too: these are a and b.
// They give about half of the rounding errors of the usual 0, +-1, +-2.
struct WinogradPoints {
  double a, b;
};
inline constexpr WinogradPoints kWinogradPoints3{0.5, 1.25};
inline constexpr WinogradPoints kWinogradPoints4{0.70710678118654752440, 1.41421356237309504880};

// Steps are in bytes.
struct WinogradInput {
  const char* src;  // the patch's first pixel; of the patch, rows [row_begin, row_end) and columns
                    // [column_begin, column_end) lie inside the image, the others are zero
  int64_t row_step, column_step;
  int row_begin, row_end, column_begin, column_end;
  char* to;  // the (m + 2)^2 transformed values, row by row
  int64_t to_step;
  bool float16;  // src is of Float16 instead of floats
};

struct WinogradOutput {
  const char* from;  // the (m + 2)^2 products, row by row
  int64_t from_step;
  const float* bias;  // of the block
  const char* z;      // may be null, or dst
  int64_t z_row_step, z_column_step;
  char* dst;
  int64_t dst_row_step, dst_column_step;
  int rows, columns;  // of the m x m outputs, as many as exist
  ConvFinish finish;
  int channels;                 // of the block that exist
  bool float16_z, float16_dst;  // of Float16 instead of floats
};

struct WinogradCode {
  void (*input)(const WinogradInput& patch);
  void (*output)(const WinogradOutput& patch);
};

struct WinogradCodes {
  WinogradCode of[5];  // [m]: F(m x m), for m from 2
};

extern const WinogradCodes kWinogradAvx512, kWinogradAvx2, kWinogradNeon;

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_
