// The innermost loop of the gradient by a filter: multiplies some elements of the image by 16
// channels of diff, and sums over a box of pixels. All sums stay in registers.
#ifndef ASHLAR_RUNTIME_CPU_CONV_FILTER_TILE_H_
#define ASHLAR_RUNTIME_CPU_CONV_FILTER_TILE_H_

#include <cstdint>

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// The arguments of one tile. Steps are in elements.
struct FilterTile {
  // The steps between pixels of the box: along a row, from row to row, and from image to image.
  struct Steps {
    int64_t pixel = 0, row = 0, image = 0;
  };

  const float* src;        // the element that meets the first pixel of the box
  const int64_t* offsets;  // by row of sums, relative to src; null: adjacent elements
  Steps src_step;
  const float* diff;  // 16 channels, at the first pixel of the box
  Steps diff_step;
  int64_t images, height, width;  // size of the box; if any is 0, the sums are zero
  float* sums;                    // [rows, 16]
  bool add;                       // adds to the sums in memory
};
using FilterTileFunction = void (*)(const FilterTile& tile);

inline constexpr int kMostFilterTileRows = 16;

// Returns how many rows of sums the registers hold.
int FilterTileRows(Isa isa);
// Returns the function for `rows` in [1, FilterTileRows(isa)].
FilterTileFunction FilterTileFor(Isa isa, int rows, bool neighbours);

// The depthwise variant: each channel of diff meets the same channel of the image. It computes one
// row of sums, for one tap. `src` is the first of 16 channels; `offsets` is not used.
FilterTileFunction DepthwiseFilterTileFor(Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_FILTER_TILE_H_
