// Builds index spaces and walks from tensor types.
#ifndef ASHLAR_RUNTIME_CUDA_WALK_H_
#define ASHLAR_RUNTIME_CUDA_WALK_H_

#include <algorithm>
#include <array>
#include <vector>

#include "absl/types/span.h"
#include "opr/base/strided.h"
#include "opr/base/window.h"
#include "runtime/cuda/index.h"
#include "runtime/cuda/window.h"

namespace ashlar::cuda {

static_assert(kMaxRank == Shape::kMaxRank);

inline Scalar ScalarOf(DType dtype) { return static_cast<Scalar>(dtype); }
static_assert(static_cast<int>(Scalar::kFloat32) == static_cast<int>(DType::kFloat32) &&
              static_cast<int>(Scalar::kFloat16) == static_cast<int>(DType::kFloat16) &&
              static_cast<int>(Scalar::kBFloat16) == static_cast<int>(DType::kBFloat16) &&
              static_cast<int>(Scalar::kInt64) == static_cast<int>(DType::kInt64) &&
              static_cast<int>(Scalar::kBool) == static_cast<int>(DType::kBool) &&
              static_cast<int>(Scalar::kFloat64) == static_cast<int>(DType::kFloat64) &&
              static_cast<int>(Scalar::kUint64) == static_cast<int>(DType::kUint64));

Extents ExtentsOf(const Shape& shape);

// Returns the strides of `type`, in elements of its format, over the axes of a shape to which it
// broadcasts.
Strides StridesOver(const TensorType& type, const Shape& shape);

ImageSteps StepsOf(const TensorType& image);
WindowSteps StepsOf(const WindowAxis& axis);

// Returns the index space of an image's elements in memory order; a pack of channels counts as one.
Extents ImageExtents(const TensorType& image, int pack);

// Puts the axes of `shape` in the memory order of operand 0, innermost last. Joins axes that every
// operand walks with one stride.
template <size_t kOperands>
void OrderByMemory(Shape& shape, std::array<Strides, kOperands>& strides) {
  std::vector<int> order;
  for (int axis = 0; axis < shape.rank(); ++axis) order.push_back(axis);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return strides[0][a] > strides[0][b]; });
  const Shape old_shape = shape;
  const std::array<Strides, kOperands> old = strides;
  for (size_t i = 0; i < order.size(); ++i) {
    shape[static_cast<int>(i)] = old_shape[order[i]];
    for (size_t k = 0; k < kOperands; ++k) strides[k][i] = old[k][order[i]];
  }
  JoinDimensions(shape, strides);
}

// Returns the walk of a shape with at least one axis.
template <int kTo, size_t kFrom>
Walk<kTo> MakeWalk(const Shape& shape, const std::array<Strides, kFrom>& strides) {
  static_assert(kFrom <= static_cast<size_t>(kTo));
  Walk<kTo> walk;
  walk.extents = ExtentsOf(shape);
  for (size_t k = 0; k < kFrom; ++k) {
    for (int axis = 0; axis < shape.rank(); ++axis) walk.strides[k][axis] = strides[k][axis];
  }
  return walk;
}

// Returns how many elements along the innermost axis can be handled at once: the largest power of
// two up to `most` that suits every operand. Along that axis, an operand must be constant, or
// contiguous with all its other offsets multiples of the pack.
template <size_t kOperands>
int PackOf(const Shape& shape, const std::array<Strides, kOperands>& strides, size_t operands,
           int most) {
  const int inner = shape.rank() - 1;
  for (int pack = most; pack > 1; pack /= 2) {
    bool fits = shape[inner] % pack == 0 && strides[0][inner] == 1;
    for (size_t k = 0; fits && k < operands; ++k) {
      fits = strides[k][inner] == 0 || strides[k][inner] == 1;
      for (int axis = 0; fits && strides[k][inner] == 1 && axis < inner; ++axis) {
        fits = strides[k][axis] % pack == 0;
      }
    }
    if (fits) return pack;
  }
  return 1;
}

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_WALK_H_
