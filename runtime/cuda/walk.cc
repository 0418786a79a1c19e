#include "runtime/cuda/walk.h"

namespace ashlar::cuda {

Extents ExtentsOf(const Shape& shape) {
  Extents extents;
  extents.rank = shape.rank();
  extents.elements = shape.num_elements();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    extents.sizes[axis] = shape[axis];
    // Larger dimensions use plain division.
    if (shape[axis] > 0 && shape[axis] < (int64_t{1} << 31)) {
      extents.divisors[axis] = MakeDivisor(shape[axis]);
    }
  }
  return extents;
}

Strides StridesOver(const TensorType& type, const Shape& shape) {
  Strides strides = BroadcastStrides(type.shape, shape);
  if (type.format == Format::kDefault) return strides;
  const ImageStrides image = ashlar::StridesOf(type);
  const int64_t own[] = {image.n, image.c, image.h, image.w};
  const int leading = shape.rank() - 4;
  for (int axis = 0; axis < 4; ++axis) {
    strides[leading + axis] = type.shape[axis] == 1 ? 0 : own[axis];
  }
  return strides;
}

ImageSteps StepsOf(const TensorType& image) {
  const ImageStrides steps = ashlar::StridesOf(image);
  return {steps.n, steps.c, steps.h, steps.w};
}

WindowSteps StepsOf(const WindowAxis& axis) {
  return {axis.input, axis.window, axis.stride, axis.dilation, axis.pad_begin};
}

Extents ImageExtents(const TensorType& image, int pack) {
  const Shape& s = image.shape;
  return ExtentsOf(image.format == Format::kNHWC ? Shape{s[0], s[2], s[3], s[1] / pack} : s);
}

}  // namespace ashlar::cuda
