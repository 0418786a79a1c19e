// Bounds to which a convolution clamps the image elements that it loads. Compiles for the host and
// for devices.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_SOURCE_BOUNDS_H_
#define ASHLAR_RUNTIME_CUDA_CONV_SOURCE_BOUNDS_H_

#include <cmath>

namespace ashlar::cuda {

// The bounds, which are values of the image's dtype.
struct SourceBounds {
  bool any = false;
  float low = -INFINITY, high = INFINITY;
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_SOURCE_BOUNDS_H_
