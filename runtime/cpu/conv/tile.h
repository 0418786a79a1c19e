// The innermost part of convolutions: some pixels of one output row by some blocks of channels, all
// sums held in registers.
//
// Code for an instruction set stands in a file of its own, compiled with that set's flags; so this
// header has plain data only, and nothing inline that the linker could take from such a file.
#ifndef ASHLAR_RUNTIME_CPU_CONV_TILE_H_
#define ASHLAR_RUNTIME_CPU_CONV_TILE_H_

#include <cstdint>

#include "opr/scalar_functions.h"

namespace ashlar::cpu {

// The activation that follows the last addition of a sum, where its formula is arithmetic.
struct ConvFinish {
  ScalarFunction function = ScalarFunction::kIdentity;
  float parameters[ScalarRow::kMostParameters] = {};
};

// Steps are in bytes, so that any of them can be an index of an address.
struct ConvTile {
  // Input channels lie in `blocks` blocks of `lanes` channels, the last of `last_lanes`. `src` is
  // the first channel of the first block where the first pixel's window begins, at the first of the
  // `rows` rows of the window that lie inside the image; only taps inside the image are read.
  const char* src;
  int64_t pixel_step;   // from pixel to pixel of the output, the stride in it
  int64_t lane_step;    // from channel to channel in a block
  int64_t block_step;   // from block to block
  int64_t row_step;     // from tap to tap down the window, the dilation in it
  int64_t column_step;  // from tap to tap along the window
  int blocks, lanes, last_lanes;
  int rows, columns;

  // Where `trim`, some taps lie left or right of the image: tap c of pixel p reads column
  // first_column + p * stride + c * dilation of [0, width).
  bool trim;
  int first_column, stride, dilation, width;

  // By block, row, column and lane, one value for each output channel. Begins at the first block
  // and row.
  const char* weights;
  int64_t weights_block_step;
  // The addresses fetched into the second-level cache meanwhile: so many bytes on for each lane,
  // and for each block from where the block before began.
  const char* prefetch;
  int64_t prefetch_step, prefetch_block_step;

  // The sums begin with the bias, which may be null. At the end z, which may be null or `dst`, is
  // added to them, and `sums`, which may be too, always of floats: partial sums are more exact.
  const float* bias;  // of all output channels of the tile
  const char* z;
  int64_t z_pixel_step, z_block_step;
  const char* sums;
  int64_t sums_pixel_step, sums_block_step;
  char* dst;
  int64_t dst_pixel_step, dst_block_step;
  bool float16_z, float16_dst;  // of Float16 instead of floats
  bool fetch_z;  // into the first-level cache, while the sums are made; not depthwise

  ConvFinish finish;
  // Output channels of the last block that exist; the others are made zero where it is below 16.
  int last_channels;
};

using ConvTileFunction = void (*)(const ConvTile& tile);

// The code for one instruction set.
struct ConvTileCode {
  static constexpr int kMostBlocks = 2, kMostPixels = 14;
  using ByPixels = ConvTileFunction[kMostPixels + 1];
  int blocks, pixels;             // of the largest tile
  int depthwise_pixels;           // of the largest of `depthwise`
  ByPixels run[kMostBlocks + 1];  // run[b][p]: tiles of p pixels by b blocks
  // Of one block, each of whose channels sees only the input channel of the same place. The weights
  // are by row, column and channel; neither blocks, lanes nor `prefetch` have a meaning.
  ByPixels depthwise;
  // The same where the second half of the one block does not exist and is made zero: of up to twice
  // as many pixels. Null where vectors are no shorter than a block.
  ByPixels half, half_depthwise;
  // Multiplies and adds in registers, so many operations a round: the processor's peak.
  float (*multiply_add)(int64_t rounds, float value);
  int multiply_add_flops;
};

extern const ConvTileCode kConvTileAvx512, kConvTileAvx2, kConvTileNeon;

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_TILE_H_
