// The addresses of an image tensor's elements, for every format.
#ifndef ASHLAR_RUNTIME_CPU_IMAGE_LAYOUT_H_
#define ASHLAR_RUNTIME_CPU_IMAGE_LAYOUT_H_

#include <cstdint>

#include "graph/shape.h"

namespace ashlar::cpu {

// The layout of an image. Offsets and steps are in elements.
struct ImageLayout {
  ImageLayout() = default;
  explicit ImageLayout(const TensorType& type)
      : block(IsBlocked(type.format) ? kChannelBlock : 1), step(StridesOf(type)) {}

  int64_t Offset(int64_t n, int64_t channel) const {
    return n * step.n + channel / block * step.c + channel % block;
  }
  int64_t Offset(int64_t n, int64_t channel, int64_t row, int64_t column) const {
    return Offset(n, channel) + row * step.h + column * step.w;
  }
  bool blocked() const { return block == kChannelBlock; }

  int64_t block = 1;  // channels of a block
  ImageStrides step;
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_IMAGE_LAYOUT_H_
