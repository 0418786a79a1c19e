#include "runtime/mcu/walk.h"

namespace ashlar::mcu {

Strides StridesOver(const TensorType& type, const Shape& shape) {
  Strides strides = BroadcastStrides(type.shape, shape);
  if (type.format != Format::kNHWC) return strides;
  const ImageStrides step = StridesOf(type);
  const int64_t steps[] = {step.n, step.c, step.h, step.w};
  for (int axis = 0; axis < 4; ++axis) strides[axis] = type.shape[axis] == 1 ? 0 : steps[axis];
  return strides;
}

ashlar_steps StepsOf(const TensorType& image) {
  const ImageStrides step = StridesOf(image);
  return {static_cast<int32_t>(step.n), static_cast<int32_t>(step.h), static_cast<int32_t>(step.w),
          static_cast<int32_t>(step.c)};
}

}  // namespace ashlar::mcu
