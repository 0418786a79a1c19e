// The pixels around a grid point and their weights along one axis, for every device; as in ONNX's
// operator GridSample (version 20), and in PyTorch.
#ifndef ASHLAR_OPR_BASE_GRID_TAPS_H_
#define ASHLAR_OPR_BASE_GRID_TAPS_H_

#include <cmath>
#include <cstdint>

#include "opr/base/anywhere.h"

namespace ashlar {

enum class GridSampleMode { kNearest, kLinear, kCubic };

// The values outside of the image.
enum class GridSamplePadding {
  kZeros,
  kBorder,      // the nearest pixel
  kReflection,  // the image, mirrored repeatedly
};

// How the points of the grid map to an image.
struct GridSampling {
  GridSampleMode mode = GridSampleMode::kLinear;
  GridSamplePadding padding = GridSamplePadding::kZeros;
  bool align_corners = false;  // true: -1 and 1 are the centres of the first and last pixel; false:
                               // their outer edges
};

// One axis of one point: pixels and their weights; a zero outside of the image has weight 0.
struct GridTaps {
  static constexpr int kMost = 4;
  int64_t pixel[kMost] = {};
  double weight[kMost] = {};
};
// Returns 1 for nearest, 2 for linear, 4 for cubic.
ASHLAR_ANYWHERE_CONSTEXPR int GridTapCount(GridSampleMode mode) {
  return mode == GridSampleMode::kNearest ? 1 : mode == GridSampleMode::kLinear ? 2 : 4;
}

// Mirrors x at both ends until it lies in [low, high].
ASHLAR_ANYWHERE double GridReflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double beyond = std::fmod(std::fabs(x - low), 2 * range), back = 2 * range - beyond;
  return low + (back < beyond ? back : beyond);
}

// Weights of Keys' cubic convolution at distance d: below 1 (near), and from 1 to 2 (far).
ASHLAR_ANYWHERE double GridCubicNear(double d) {
  return ((-0.75 + 2) * d - (-0.75 + 3)) * d * d + 1;
}
ASHLAR_ANYWHERE double GridCubicFar(double d) {
  constexpr double kA = -0.75;
  return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
}

// `coordinate` is the grid's, `size` the image's along the axis.
ASHLAR_ANYWHERE GridTaps GridTapsAt(const GridSampling& sampling, double coordinate, int64_t size) {
  constexpr double kFar = 1e9;  // outside of every image; used for NaN, too
  const double length = static_cast<double>(size);
  double x = sampling.align_corners ? (coordinate + 1) / 2 * (length - 1)
                                    : ((coordinate + 1) * length - 1) / 2;
  x = !(x > -kFar) ? -kFar : x > kFar ? kFar : x;
  const bool cubic = sampling.mode == GridSampleMode::kCubic;
  if (sampling.mode == GridSampleMode::kNearest) x = std::nearbyint(x);
  const double low = sampling.align_corners ? 0 : -0.5, high = length - 1 - low;
  if (x < low || x > high) {
    // Cubic weights use the point itself, as in PyTorch and ONNX Runtime; onnx's reference moves it
    // to the border first.
    const bool moves = sampling.padding == GridSamplePadding::kBorder && !cubic;
    if (moves) x = x < 0 ? 0 : x > length - 1 ? length - 1 : x;
    if (sampling.padding == GridSamplePadding::kReflection) x = GridReflected(x, low, high);
  }
  const double left = std::floor(x), t = x - left;
  GridTaps result;
  switch (sampling.mode) {
    case GridSampleMode::kNearest:
      result.weight[0] = 1;
      break;
    case GridSampleMode::kLinear:
      result.weight[0] = 1 - t;
      result.weight[1] = t;
      break;
    case GridSampleMode::kCubic:
      result.weight[0] = GridCubicFar(t + 1);
      result.weight[1] = GridCubicNear(t);
      result.weight[2] = GridCubicNear(1 - t);
      result.weight[3] = GridCubicFar(2 - t);
      break;
  }
  for (int i = 0; i < GridTapCount(sampling.mode); ++i) {
    double pixel = left + i - (cubic ? 1 : 0);
    if (sampling.padding == GridSamplePadding::kReflection) pixel = GridReflected(pixel, low, high);
    const bool outside = pixel < 0 || pixel > length - 1;
    if (outside && sampling.padding == GridSamplePadding::kZeros) result.weight[i] = 0;
    const int64_t whole = static_cast<int64_t>(pixel);
    result.pixel[i] = whole < 0 ? 0 : whole > size - 1 ? size - 1 : whole;
  }
  return result;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_GRID_TAPS_H_
