// Walks over the elements of several tensors, in the form that the C functions take.
#ifndef ASHLAR_RUNTIME_MCU_WALK_H_
#define ASHLAR_RUNTIME_MCU_WALK_H_

#include <array>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "opr/base/strided.h"
#include "runtime/mcu/shapes.h"

namespace ashlar::mcu {

// Returns the strides of `type`, which broadcasts to `shape`, along the axes of `shape`.
Strides StridesOver(const TensorType& type, const Shape& shape);

ashlar_steps StepsOf(const TensorType& image);

template <size_t K>
struct Walk {
  ashlar_walk walk;
  std::array<ashlar_strides, K> strides;
};

// Returns the shape of a function that walks `src` and `dst`, with all other fields 0.
template <typename ShapeStruct>
ShapeStruct ShapeOver(const Walk<2>& walk) {
  ShapeStruct shape = {};
  shape.walk = walk.walk;
  shape.src = walk.strides[0];
  shape.dst = walk.strides[1];
  return shape;
}

// Returns the walk over `shape` with its axes in `order`, outermost first. Returns Unimplemented if
// more than ASHLAR_AXES axes remain after adjacent ones are joined.
template <size_t K, typename Order>
absl::StatusOr<Walk<K>> WalkInOrder(const Shape& shape, const Order& order,
                                    const std::array<Strides, K>& strides) {
  Shape sizes;
  std::array<Strides, K> ordered;
  for (const int axis : order) {
    sizes.push_back(shape[axis]);
    for (size_t k = 0; k < K; ++k) ordered[k].push_back(strides[k][axis]);
  }
  JoinDimensions(sizes, ordered);
  if (sizes.rank() > ASHLAR_AXES) {
    return absl::UnimplementedError(absl::StrCat("elements of ", shape.ToString(),
                                                 " are walked along ", sizes.rank(),
                                                 " axes, at most ", int{ASHLAR_AXES}));
  }
  Walk<K> walk = {};
  const int unused = ASHLAR_AXES - sizes.rank();
  for (int axis = 0; axis < ASHLAR_AXES; ++axis) {
    walk.walk.sizes[axis] = axis < unused ? 1 : static_cast<int32_t>(sizes[axis - unused]);
    for (size_t k = 0; k < K && axis >= unused; ++k) {
      walk.strides[k].by_axis[axis] = static_cast<int32_t>(ordered[k][axis - unused]);
    }
  }
  return walk;
}

// Returns the walk over `output` in memory order; inputs broadcast to it.
template <size_t K>
absl::StatusOr<Walk<K + 1>> WalkOver(const TensorType& output,
                                     const std::array<TensorType, K>& inputs) {
  std::array<Strides, K + 1> strides;
  for (size_t k = 0; k < K; ++k) strides[k] = StridesOver(inputs[k], output.shape);
  strides[K] = StridesOver(output, output.shape);
  return WalkInOrder(output.shape, GridOf(output).order, strides);
}

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_WALK_H_
