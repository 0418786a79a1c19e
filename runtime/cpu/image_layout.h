// Where the elements of an image tensor lie, whichever format it has.
#ifndef ASHLAR_RUNTIME_CPU_IMAGE_LAYOUT_H_
#define ASHLAR_RUNTIME_CPU_IMAGE_LAYOUT_H_

#include <cstdint>

#include "graph/shape.h"

namespace ashlar::cpu {

// Offsets are in elements.
struct ImageLayout {
  ImageLayout() = default;
  explicit ImageLayout(const TensorType& type)
      : block(IsBlocked(type.format) ? kChannelBlock : 1), step(StridesOf(type)) {}

  int64_t Offset(int64_t n, int64_t channel) const {
    return n * step.n + channel / block * step.c + channel % block;
  }
  int64_t Offset(int64_t n, int64_t channel, int64_t row, int64_t column) const {
    return Offset(n, channel) + row * step.h + column * block;
  }
  bool blocked() const { return block == kChannelBlock; }

  int64_t block = 1;  // channels that lie side by side, and so the step from pixel to pixel
  ImageStrides step;
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_IMAGE_LAYOUT_H_
