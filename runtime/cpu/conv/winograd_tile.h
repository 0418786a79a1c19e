// The transforms of Winograd's convolution F(m x m, 3 x 3) (winograd.h), for one patch of (m + 2) x
// (m + 2) pixels and one block of 16 channels. As in tile.h, this is plain data; each instruction
// set has its code in its own file.
#ifndef ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_
#define ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_

#include <cstdint>

#include "runtime/cpu/conv/tile.h"

namespace ashlar::cpu {

// The interpolation points +-a, +-b and infinity of F(m x m) for m > 2; F(4 x 4) also has 0.
// Compared with the usual points 0, +-1, +-2, these halve the rounding errors.
struct WinogradPoints {
  double a, b;
};
inline constexpr WinogradPoints kWinogradPoints3{0.5, 1.25};
inline constexpr WinogradPoints kWinogradPoints4{0.70710678118654752440, 1.41421356237309504880};

// The arguments of an input transform. Steps are in bytes.
struct WinogradInput {
  const char* src;  // the patch's first pixel; rows [row_begin, row_end) and columns [column_begin,
                    // column_end) of the patch are inside the image, the others are zero
  int64_t row_step, column_step;
  int row_begin, row_end, column_begin, column_end;
  char* to;  // the (m + 2)^2 transformed values, row by row
  int64_t to_step;
  bool float16;  // src is Float16 instead of Float32
};

struct WinogradOutput {
  const char* from;  // the (m + 2)^2 products, row by row
  int64_t from_step;
  const float* bias;  // for the block
  const char* z;      // may be null, or dst
  int64_t z_row_step, z_column_step;
  char* dst;
  int64_t dst_row_step, dst_column_step;
  int rows, columns;  // how many of the m x m outputs exist
  ConvFinish finish;
  int channels;                 // channels of the block that exist
  bool float16_z, float16_dst;  // Float16 instead of Float32
};

struct WinogradCode {
  void (*input)(const WinogradInput& patch);
  void (*output)(const WinogradOutput& patch);
};

struct WinogradCodes {
  WinogradCode of[5];  // of[m]: F(m x m), for m from 2
};

extern const WinogradCodes kWinogradAvx512, kWinogradAvx2, kWinogradNeon;

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_WINOGRAD_TILE_H_
