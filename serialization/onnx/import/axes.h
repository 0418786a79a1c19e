// Axes and dimensions in ONNX's counting.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_AXES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_AXES_H_

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "graph/shape.h"

namespace ashlar {

// Returns the axes 0 to rank - 1.
inline std::vector<int64_t> AllAxes(int rank) {
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Returns the product of the dimensions [begin, end).
inline int64_t ElementsBetween(const Shape& shape, int begin, int end) {
  return std::accumulate(shape.dims().begin() + begin, shape.dims().begin() + end, int64_t{1},
                         std::multiplies<>());
}

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_AXES_H_
