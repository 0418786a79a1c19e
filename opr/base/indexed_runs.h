// Runs of a tensor selected by a tensor of indices, for gathering and scattering operators.
#ifndef ASHLAR_OPR_BASE_INDEXED_RUNS_H_
#define ASHLAR_OPR_BASE_INDEXED_RUNS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/operator.h"

namespace ashlar {

// Run r begins at position r of `walk` under `strides`, plus the offsets from the indices of tuple
// r % tuples. All in elements.
struct IndexedRuns {
  int64_t count = 0;   // of runs
  int64_t length = 1;  // of each run
  Shape walk;
  std::vector<int64_t> strides;  // by dimension of `walk`

  int64_t tuples = 0;                 // of indices; a tuple's indices are adjacent
  std::vector<int64_t> sizes, steps;  // by index of a tuple: its bound, and its stride

  static constexpr int64_t kOutside = -1;
  // Returns the start of run r, or kOutside if an index is outside of its dimension. Negative
  // indices count from the end.
  template <typename Index>
  int64_t Begin(const Index* indices, int64_t r) const {
    const auto depth = static_cast<int64_t>(sizes.size());
    const Index* const tuple = indices + r % tuples * depth;
    int64_t begin = 0;
    for (int64_t i = 0; i < depth; ++i) {
      const int64_t index = tuple[i], size = sizes[static_cast<size_t>(i)];
      if (index < -size || index >= size) return kOutside;
      begin += (index < 0 ? index + size : index) * steps[static_cast<size_t>(i)];
    }
    for (int axis = walk.rank() - 1; axis >= 0 && r > 0; --axis) {
      begin += r % walk[axis] * strides[static_cast<size_t>(axis)];
      r /= walk[axis];
    }
    return begin;
  }
  // OutOfRange for the first index that is outside of its dimension.
  absl::Status CheckIndices(const void* indices, DType dtype) const;
};

// InvalidArgument unless there are `expected` inputs, and the indices, input 1, are Int32 or Int64.
absl::Status CheckIndexedInputs(absl::Span<const InputInfo> inputs, size_t expected);

// Returns the runs of `x` selected by tuples of indices into its dimensions from `batch` on. The
// leading `batch` dimensions are shared with the indices.
absl::StatusOr<IndexedRuns> RunsByTuples(const Shape& x, const Shape& indices, int64_t batch);
// Returns the shape of all these runs: the indices' dimensions except the last, then the remaining
// ones of `x`.
Shape ShapeByTuples(const Shape& x, const Shape& indices, int64_t batch);
// Returns single elements of `x`, at their positions among the indices except along `axis`. `x` may
// be larger.
absl::StatusOr<IndexedRuns> RunsByElements(const Shape& x, const Shape& indices, int64_t axis);
// Returns the runs of `x` before and after an axis, for each index.
IndexedRuns RunsAlongAxis(const Shape& x, const Shape& indices, int axis);

// Returns the runs one after the other, as a tensor of shape `shape`.
absl::StatusOr<HostTensor> GatherRuns(const IndexedRuns& runs, const HostTensor& x,
                                      const HostTensor& indices, const Shape& shape);

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_INDEXED_RUNS_H_
