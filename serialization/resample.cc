// Resampling by convolution with a triangle twice as wide as a pixel of the coarser grid (P.
// Heckbert, "Zoom", Graphics Gems III, 1992), columns first, then rows. As in Pillow, weights are
// 22-bit fixed point numbers, and each pass rounds to bytes.
#include "serialization/resample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/status.h"

namespace ashlar {
namespace {

constexpr int kWeightBits = 22;

// The source pixels of one pixel of the result.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;  // sum: 1 << kWeightBits, up to rounding
};

// Returns the taps of each of `to` pixels that replace `from` pixels.
std::vector<Taps> TapsFor(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = std::max(scale, 1.0);
  std::vector<Taps> all(to);
  std::vector<double> weights;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max(static_cast<int64_t>(center - radius + 0.5), int64_t{0});
    const int64_t end = std::min(static_cast<int64_t>(center + radius + 0.5), from);
    weights.clear();
    double sum = 0;
    for (int64_t j = first; j < end; ++j) {
      const double distance = std::abs((static_cast<double>(j) - center + 0.5) * (1 / radius));
      weights.push_back(std::max(1 - distance, 0.0));
      sum += weights.back();
    }
    all[i].first = first;
    for (const double weight : weights) {
      all[i].weights.push_back(static_cast<int32_t>(weight / sum * (1 << kWeightBits) + 0.5));
    }
  }
  return all;
}

// Returns the weighted sum of bytes at `from`, `stride` apart, rounded to a byte. Rounding at most
// doubles a nonzero weight, so the sum stays below 2^31.
uint8_t Weighted(const uint8_t* from, int64_t stride, const std::vector<int32_t>& weights) {
  int32_t sum = 1 << (kWeightBits - 1);
  for (size_t i = 0; i < weights.size(); ++i) sum += weights[i] * from[i * stride];
  return static_cast<uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

Pixels ResampleColumns(const Pixels& pixels, int64_t width) {
  const std::vector<Taps> taps = TapsFor(pixels.size.width, width);
  Pixels result = Pixels::Zeros({pixels.size.height, width});
  for (int64_t y = 0; y < pixels.size.height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int c = 0; c < Pixels::kChannels; ++c) {
        result.at(y, x)[c] =
            Weighted(pixels.at(y, taps[x].first) + c, Pixels::kChannels, taps[x].weights);
      }
    }
  }
  return result;
}

Pixels ResampleRows(const Pixels& pixels, int64_t height) {
  const std::vector<Taps> taps = TapsFor(pixels.size.height, height);
  const int64_t row = pixels.size.width * Pixels::kChannels;
  Pixels result = Pixels::Zeros({height, pixels.size.width});
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < row; ++x) {
      result.at(y, 0)[x] = Weighted(pixels.at(taps[y].first, 0) + x, row, taps[y].weights);
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<Pixels> Resample(const Pixels& pixels, PictureSize size) {
  ASHLAR_RETURN_IF_ERROR(CheckPictureSize(size, "resized picture"));
  ASHLAR_RETURN_IF_ERROR(
      CheckPictureSize({pixels.size.height, size.width}, "half resized picture"));
  Pixels result = pixels;
  if (size.width != result.size.width) result = ResampleColumns(result, size.width);
  if (size.height != result.size.height) result = ResampleRows(result, size.height);
  return result;
}

}  // namespace ashlar
