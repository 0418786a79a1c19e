#include "runtime/cpu/row_loop.h"

#include <cstring>

namespace ashlar {

Strides StridesOver(const TensorType& type, const Shape& shape, bool blocked) {
  Strides strides = BroadcastStrides(type.shape, shape);
  if (!blocked) return strides;
  if (type.format == Format::kNCHW16c) {
    const Shape& s = type.shape;
    const int64_t pixels = s[2] * s[3];
    const int64_t blocks = (s[1] + kChannelBlock - 1) / kChannelBlock;
    const int64_t block = s[1] == 1 ? 0 : pixels * kChannelBlock;
    return {s[0] == 1 ? 0 : blocks * pixels * kChannelBlock, block,
            s[2] == 1 ? 0 : s[3] * kChannelBlock, s[3] == 1 ? 0 : kChannelBlock, s[1] == 1 ? 0 : 1};
  }
  return {strides[0], kChannelBlock * strides[1], strides[2], strides[3], strides[1]};
}

void ZeroChannelPadding(const TensorType& type, void* data) {
  const int64_t used = type.format == Format::kNCHW16c ? type.shape[1] % kChannelBlock : 0;
  if (used == 0) return;
  const int64_t size = SizeOf(type.dtype);
  const int64_t pixels = type.shape[2] * type.shape[3];
  const int64_t image = (type.shape[1] / kChannelBlock + 1) * pixels * kChannelBlock;
  for (int64_t n = 0; n < type.shape[0]; ++n) {
    char* last = static_cast<char*>(data) + ((n + 1) * image - pixels * kChannelBlock) * size;
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      std::memset(last + (pixel * kChannelBlock + used) * size, 0, (kChannelBlock - used) * size);
    }
  }
}

}  // namespace ashlar
