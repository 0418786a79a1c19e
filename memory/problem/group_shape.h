// Computes the shape of a group of buffers that share bytes: the union of rectangles, by a sweep
// over the sections with a map of the live byte ranges.
#ifndef ASHLAR_MEMORY_PROBLEM_GROUP_SHAPE_H_
#define ASHLAR_MEMORY_PROBLEM_GROUP_SHAPE_H_

#include <vector>

#include "memory/problem/rect.h"

namespace ashlar::memory {

// Returns the union of possibly overlapping rectangles as disjoint ones, sorted by (begin, bottom).
// Adjacent rectangles of equal extent are joined.
std::vector<Rect> UnionOfRects(const std::vector<Rect>& rects);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_GROUP_SHAPE_H_
