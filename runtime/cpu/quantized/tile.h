// Tiles of 8-bit convolutions: sums of all products of some pixels and output channels, in 32-bit
// registers, rounded to the output's integers at once.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_

#include <cmath>
#include <cstdint>

namespace ashlar::cpu {

inline constexpr int64_t kPanel = 16;      // output channels of a tile
inline constexpr int64_t kTilePixels = 3;  // its pixels, at most
inline constexpr int64_t kDepth = 4;       // input channels that a step takes
inline constexpr int64_t kMostTaps = 128;  // of a window

// How sums become integers of the output, in Float32: rounded half to even, between `low` and
// `high` (steps from the zero point).
struct RoundingSteps {
  float low, high;
  int32_t zero_point;
};

// Of integers from `least` to `most`.
inline RoundingSteps RoundingBetween(int32_t least, int32_t most, int32_t zero_point) {
  return {static_cast<float>(least - zero_point), static_cast<float>(most - zero_point),
          zero_point};
}

// `steps` from the zero point as an integer. In comparisons that compilers turn into vector
// minima and maxima; NaN is the lowest.
inline int32_t Rounded(float steps, const RoundingSteps& rounding) {
  float rounded = std::nearbyint(steps);
  rounded = rounded > rounding.low ? rounded : rounding.low;
  rounded = rounded < rounding.high ? rounded : rounding.high;
  return static_cast<int32_t>(rounded) + rounding.zero_point;
}

struct TileCall {
  // By tap and pixel: input channels of the tap, side by side; outside the image those of a pixel
  // that is the zero point throughout.
  const uint8_t* const* taps;
  int64_t num_taps, depth;  // depth: input channels
  const int8_t* weights;    // [taps, ceil(depth / kDepth), kPanel, kDepth]
  const int32_t* weight_sums;
  const int32_t* bias;
  const float* factors;
  int32_t source_zero_point;
  RoundingSteps rounding;
  uint8_t* const* dst;  // by pixel
  int64_t channels;     // of the panel that there are
};

// Pixels 1 to kTilePixels; sources signed or not.
using TileFunction = void (*)(const TileCall& call);

// Null where this processor has none: see tile_avx2.cc.
TileFunction Avx2Tile(int64_t pixels, bool is_signed);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_
