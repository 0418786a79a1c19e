#include "runtime/cpu/walk.h"

#include <cstring>

namespace ashlar::cpu {

Strides StridesOver(const TensorType& type, const Shape& shape, bool blocked) {
  Strides strides = BroadcastStrides(type.shape, shape);
  if (type.format == Format::kNHWC) {
    const ImageStrides step = StridesOf(type);
    const int64_t steps[] = {step.n, step.c, step.h, step.w};
    for (int axis = 0; axis < 4; ++axis) strides[axis] = type.shape[axis] == 1 ? 0 : steps[axis];
  }
  if (!blocked) return strides;
  if (IsBlocked(type.format)) {
    const Shape& s = type.shape;
    const ImageStrides step = StridesOf(type);
    return {s[0] == 1 ? 0 : step.n, s[1] == 1 ? 0 : step.c, s[2] == 1 ? 0 : step.h,
            s[3] == 1 ? 0 : step.w, s[1] == 1 ? 0 : 1};
  }
  return {strides[0], kChannelBlock * strides[1], strides[2], strides[3], strides[1]};
}

void ZeroChannelPadding(const TensorType& type, void* data) {
  const int64_t used = IsBlocked(type.format) ? type.shape[1] % kChannelBlock : 0;
  if (used == 0) return;
  const int64_t size = SizeOf(type.dtype);
  const ImageStrides step = StridesOf(type);
  char* const last = static_cast<char*>(data) + type.shape[1] / kChannelBlock * step.c * size;
  for (int64_t n = 0; n < type.shape[0]; ++n) {
    for (int64_t h = 0; h < type.shape[2]; ++h) {
      char* const row = last + (n * step.n + h * step.h) * size;
      for (int64_t w = 0; w < type.shape[3]; ++w) {
        std::memset(row + (w * kChannelBlock + used) * size, 0, (kChannelBlock - used) * size);
      }
    }
  }
}

}  // namespace ashlar::cpu
