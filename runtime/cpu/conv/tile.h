// The innermost loop of convolutions: a tile of pixels of one output row by some blocks of
// channels. All sums stay in registers.
//
// Each instruction set has a file of its own, compiled with that set's flags. So this header has
// plain data only, and no inline function that the linker could take from such a file.
#ifndef ASHLAR_RUNTIME_CPU_CONV_TILE_H_
#define ASHLAR_RUNTIME_CPU_CONV_TILE_H_

#include <cstdint>

#include "opr/base/scalar_functions.h"

namespace ashlar::cpu {

// How floats are stored in memory; sums are always Float32.
enum class StoredFloat : uint8_t { kFloat32, kFloat16, kBFloat16 };

// The activation applied to finished sums, if its formula is arithmetic.
struct ConvFinish {
  ScalarFunction function = ScalarFunction::kIdentity;
  float parameters[ScalarRow::kMostParameters] = {};
};

// The arguments of a tile. Steps are in bytes, so that each can be an index of an address.
struct ConvTile {
  // Input channels lie in `blocks` blocks of `lanes` channels; the last block has `last_lanes`.
  // `src` is the first channel of the first block, at the first pixel's window: its first column,
  // and the first of its `rows` rows that are inside the image. Only taps inside the image are
  // read.
  const char* src;
  int64_t pixel_step;   // between output pixels; includes the stride
  int64_t lane_step;    // between channels of a block
  int64_t block_step;   // between blocks
  int64_t row_step;     // between rows of the window; includes the dilation
  int64_t column_step;  // between columns of the window
  int blocks, lanes, last_lanes;
  int rows, columns;

  // If `trim`, some taps lie left or right of the image. Tap c of pixel p reads column first_column
  // + p * stride + c * dilation, if that is in [0, width).
  bool trim;
  int first_column, stride, dilation, width;

  // One value for each output channel, ordered by block, row, column and lane, in Float32 or
  // BFloat16. Points to the first block and row.
  StoredFloat weights_float;
  const char* weights;
  int64_t weights_block_step;
  // Addresses to prefetch into the second-level cache meanwhile. They advance by prefetch_step per
  // lane. Each block starts prefetch_block_step after the start of the block before it.
  const char* prefetch;
  int64_t prefetch_step, prefetch_block_step;

  // Sums start with the bias (may be null). At the end `z` (may be null or `dst`) and `sums` (may
  // be null) are added. `sums` is always Float32, because partial sums need the precision.
  const float* bias;  // for all output channels of the tile
  const char* z;
  int64_t z_pixel_step, z_block_step;
  const char* sums;
  int64_t sums_pixel_step, sums_block_step;
  char* dst;
  int64_t dst_pixel_step, dst_block_step;
  StoredFloat z_float, dst_float;
  bool fetch_z;  // prefetches z into the first-level cache; not for depthwise

  ConvFinish finish;
  // Output channels of the last block that exist. If below 16, the others are set to zero.
  int last_channels;
};

using ConvTileFunction = void (*)(const ConvTile& tile);

// The code for one instruction set.
struct ConvTileCode {
  static constexpr int kMostBlocks = 2, kMostPixels = 14;
  using ByPixels = ConvTileFunction[kMostPixels + 1];
  int blocks, pixels;             // the largest tile
  int depthwise_pixels;           // the largest tile of `depthwise`
  ByPixels run[kMostBlocks + 1];  // run[b][p]: tiles of p pixels by b blocks
  // Tiles of one block, in which each channel reads only the input channel at its own position.
  // Weights are ordered by row, column and channel. `blocks`, `lanes` and `prefetch` are not used.
  ByPixels depthwise;
  // The same for one block whose second half does not exist and is set to zero; tiles have up to
  // twice as many pixels. Null if a vector holds a whole block.
  ByPixels half, half_depthwise;
  // Multiplies and adds in registers, multiply_add_flops operations per round, to measure the
  // processor's peak.
  float (*multiply_add)(int64_t rounds, float value);
  int multiply_add_flops;
};

extern const ConvTileCode kConvTileAvx512, kConvTileAvx2, kConvTileNeon;

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_TILE_H_
