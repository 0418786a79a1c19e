// The planes of a resized tensor, in which one or two adjacent axes change.
#ifndef ASHLAR_RUNTIME_CPU_RESIZE_PLANES_H_
#define ASHLAR_RUNTIME_CPU_RESIZE_PLANES_H_

#include <algorithm>
#include <optional>
#include <vector>

#include "opr/resize_axis.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {

// The taps of one axis (opr/resize_axis.h), in the precision of the kernel.
struct Taps {
  int64_t taps = 1, outputs = 1;
  std::vector<int32_t> index = {0};
  std::vector<float> weight = {1};
};

// Taps of an axis that keeps its size.
Taps AllOf(int64_t size);
Taps TapsFor(const ResizeParam& param, const ResizeAxis& axis);

// The planes of [rows, columns] groups of `lanes` adjacent elements. Strides are in elements.
struct Planes {
  int64_t images = 1, groups = 1;  // groups: of channels
  int64_t lanes = 1;
  struct {
    int64_t image = 0, group = 0, row = 0;
  } from, to;
  int64_t columns = 1;  // columns of the input
  Taps h, w;
};

// Returns the planes if one axis or two adjacent axes change. Elements after these axes move
// together.
std::optional<Planes> PlanesOf(const ResizeParam& param, const std::vector<ResizeAxis>& axes,
                               const TensorType& x, const TensorType& y);

// Calls body(offset of the plane in the input, row of the output, its offset, thread).
template <typename Body>
void ForEachRowOf(const Planes& p, int threads, const Body& body) {
  const int64_t rows = p.images * p.groups * p.h.outputs;
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (p.w.outputs * p.lanes));
  ParallelPieces(threads, (rows + grain - 1) / grain, [&](int64_t piece, int thread) {
    for (int64_t i = piece * grain; i < std::min((piece + 1) * grain, rows); ++i) {
      const int64_t row = i % p.h.outputs, group = i / p.h.outputs % p.groups;
      const int64_t image = i / p.h.outputs / p.groups;
      body(image * p.from.image + group * p.from.group, row,
           image * p.to.image + group * p.to.group + row * p.to.row, thread);
    }
  });
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_RESIZE_PLANES_H_
