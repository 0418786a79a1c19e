// The innermost part of the gradient of a filter: the products of some elements of the image by 16
// channels of diff, summed over a box of pixels, all sums held in registers.
#ifndef ASHLAR_RUNTIME_CPU_CONV_FILTER_TILE_H_
#define ASHLAR_RUNTIME_CPU_CONV_FILTER_TILE_H_

#include <cstdint>

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// Steps are in elements.
struct FilterTile {
  // From one pixel of the box to the next, along a row, down the image, and over images.
  struct Steps {
    int64_t pixel = 0, row = 0, image = 0;
  };

  const float* src;        // the element that the first pixel of the box is multiplied with
  const int64_t* offsets;  // by row of the sums, from src; null: rows are neighbours
  Steps src_step;
  const float* diff;  // 16 channels, at the first pixel of the box
  Steps diff_step;
  int64_t images, height, width;  // of the box; 0 of any: the sums are empty
  float* sums;                    // [rows, 16]
  bool add;                       // to the sums in memory
};
using FilterTileFunction = void (*)(const FilterTile& tile);

inline constexpr int kMostFilterTileRows = 16;

// Rows of sums that registers hold.
int FilterTileRows(Isa isa);
// For `rows` in [1, FilterTileRows(isa)].
FilterTileFunction FilterTileFor(Isa isa, int rows, bool neighbours);

// The same where each channel of diff meets the channel of the image in its place: one row of sums
// for one tap, `src` is the first of 16 channels, `offsets` has no meaning.
FilterTileFunction DepthwiseFilterTileFor(Isa isa);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_FILTER_TILE_H_
