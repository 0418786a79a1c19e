// Walks several host tensors in step, in the order of a storage format.
#ifndef ASHLAR_OPR_BASE_STRIDED_H_
#define ASHLAR_OPR_BASE_STRIDED_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "graph/shape.h"
#include "graph/tensor.h"
#include "opr/base/wrapping_int.h"

namespace ashlar {

using Strides = absl::InlinedVector<int64_t, Shape::kMaxRank>;  // in elements; 0 repeats an element

// Returns strides that read a tensor of shape `from` as one of shape `to`, to which it broadcasts.
Strides BroadcastStrides(const Shape& from, const Shape& to);

// Converts elements `offset`, `offset` + `stride`, ... to doubles, and back.
void LoadRow(const HostTensor& tensor, int64_t offset, int64_t stride, absl::Span<double> row);
void StoreRow(absl::Span<const double> row, int64_t offset, HostTensor& tensor);
// The same for integers and Bool, exactly; stored values wrap around.
template <typename Integer>
void LoadRow(const HostTensor& tensor, int64_t offset, int64_t stride,
             absl::Span<Wrapping<Integer>> row) {
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<Integer>(tensor.IntegerAt(offset + static_cast<int64_t>(i) * stride));
  }
}
template <typename Integer>
void StoreRow(absl::Span<const Wrapping<Integer>> row, int64_t offset, HostTensor& tensor) {
  for (size_t i = 0; i < row.size(); ++i) {
    tensor.SetInteger(offset + static_cast<int64_t>(i), static_cast<int64_t>(row[i].value));
  }
}

// Calls visit(Number()). Number is the type in which the reference computes the dtype: double for
// floats, WrappingUint for Uint64, WrappingInt for other integers and Bool.
template <typename Visit>
auto WithNumber(DType dtype, const Visit& visit) {
  if (dtype == DType::kUint64) return visit(WrappingUint());
  return IsFloat(dtype) ? visit(double()) : visit(WrappingInt());
}

// Element i as such a number, and back.
template <typename Number>
Number NumberAt(const HostTensor& tensor, int64_t i) {
  if constexpr (kWraps<Number>) {
    return static_cast<decltype(Number::value)>(tensor.IntegerAt(i));
  } else {
    return tensor.At(i);
  }
}
inline void SetNumber(HostTensor& tensor, int64_t i, double value) { tensor.Set(i, value); }
template <typename Integer>
void SetNumber(HostTensor& tensor, int64_t i, Wrapping<Integer> value) {
  tensor.SetInteger(i, static_cast<int64_t>(value.value));
}

// Copies the elements of `from` from `offset` on, read with `strides` over the shape of `to`.
void CopyStrided(const HostTensor& from, int64_t offset, const Strides& strides, HostTensor& to);

// Calls row(offsets, length) for pieces of at most `max_length` elements along the innermost
// dimension, in row-major order. offsets[k] is the piece's first element in operand k, and
// strides[k].back() the distance to its next. The shape must have a dimension.
template <size_t K, typename Row>
void ForEachRow(const Shape& shape, const std::array<Strides, K>& strides, int64_t max_length,
                Row&& row) {
  if (shape.num_elements() == 0) return;
  const int inner = shape.rank() - 1;
  absl::InlinedVector<int64_t, Shape::kMaxRank> index(inner, 0);
  std::array<int64_t, K> offsets = {};
  for (;;) {
    for (int64_t first = 0; first < shape[inner]; first += max_length) {
      std::array<int64_t, K> at;
      for (size_t k = 0; k < K; ++k) at[k] = offsets[k] + first * strides[k][inner];
      row(at, std::min(max_length, shape[inner] - first));
    }
    int axis = inner - 1;
    for (; axis >= 0; --axis) {
      for (size_t k = 0; k < K; ++k) offsets[k] += strides[k][axis];
      if (++index[axis] < shape[axis]) break;
      for (size_t k = 0; k < K; ++k) offsets[k] -= index[axis] * strides[k][axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

// Joins neighbouring dimensions that every operand walks with one stride, and ensures that there is
// at least one dimension. Changes only how ForEachRow cuts rows.
template <size_t K>
void JoinDimensions(Shape& shape, std::array<Strides, K>& strides) {
  Shape joined;
  std::array<Strides, K> joined_strides;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    bool join = joined.rank() > 0;
    for (size_t k = 0; join && k < K; ++k) {
      join = joined_strides[k].back() == shape[axis] * strides[k][axis];
    }
    if (join) {
      joined[joined.rank() - 1] *= shape[axis];
    } else {
      joined.push_back(shape[axis]);
    }
    for (size_t k = 0; k < K; ++k) {
      if (join) joined_strides[k].pop_back();
      joined_strides[k].push_back(strides[k][axis]);
    }
  }
  if (joined.rank() == 0) {
    joined.push_back(1);
    for (Strides& s : joined_strides) s.push_back(0);
  }
  shape = joined;
  strides = joined_strides;
}

// A tensor as it is stored: a dense array of units. In blocked formats a unit is a block of 16
// channels at one pixel, and the dimensions are [N, blocks, H, W].
struct StorageGrid {
  Shape dims;
  int64_t unit_bytes = 0;
  absl::InlinedVector<int, Shape::kMaxRank> order = {};  // of the dimensions, the outermost first
};
StorageGrid GridOf(const TensorType& type);

// Returns the byte offset of the box [start, start + count) in `grid` if it is contiguous,
// otherwise -1.
int64_t ContiguousOffset(const StorageGrid& grid, absl::Span<const int64_t> start,
                         absl::Span<const int64_t> count);

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_STRIDED_H_
