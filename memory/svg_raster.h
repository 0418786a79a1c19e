// Computes how full each spot of a plan's picture is, for pictures of too many boxes.
#ifndef ASHLAR_MEMORY_SVG_RASTER_H_
#define ASHLAR_MEMORY_SVG_RASTER_H_

#include <cstdint>
#include <string>

#include "memory/problem/buffer.h"

namespace ashlar::memory {

inline constexpr int kRasterColumns = 436;
inline constexpr int kRasterRows = 244;
inline constexpr int kRasterShades = 8;

// The range of steps [first, last) and addresses [0, highest) that the picture shows.
struct RasterFrame {
  int64_t first = 0, last = 1, highest = 1;
};

// Returns one SVG path for each shade in use, in units of cells from the left and the bottom.
// Adjacent cells of one shade in a row, and adjacent equal rows, become one rectangle.
std::string RasterPaths(const Problem& problem, const Plan& plan, const RasterFrame& frame);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_SVG_RASTER_H_
