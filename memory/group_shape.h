// The shape of a group of buffers that share bytes, as rectangles: the union of rectangles by a
// sweep over the sections, with a map of the ranges of bytes that are live.
#ifndef ASHLAR_MEMORY_GROUP_SHAPE_H_
#define ASHLAR_MEMORY_GROUP_SHAPE_H_

#include <vector>

#include "memory/instance.h"

namespace ashlar::memory {

// The union of rectangles that may overlap, as rectangles that do not, sorted
// by (begin, bottom). Those of equal extent that follow each other are joined.
std::vector<Rect> UnionOfRects(const std::vector<Rect>& rects);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_GROUP_SHAPE_H_
