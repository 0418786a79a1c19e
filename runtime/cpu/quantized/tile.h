// Tiles of 8-bit convolutions: sums of all products of some pixels and output channels, in 32-bit
// registers, rounded to the output's integers at once.
//
// Code for an instruction set stands in a file of its own, compiled with that set's flags. All read
// weights that lie alike, and give the same bits: integers are exact, and Float32 is rounded after
// each operation.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/processor.h"

namespace ashlar::cpu {

inline constexpr int64_t kPanel = 16;      // output channels whose weights lie together
inline constexpr int64_t kDepth = 4;       // products that a step adds to a sum
inline constexpr int64_t kMostTaps = 128;  // of a window
inline constexpr int64_t kLine = 64;       // bytes of a cache's

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

// The same for vectors, which clamp bytes once they are packed: those of unsigned integers. Signed
// ones are made as unsigned bytes 128 above their values, and flipped.
struct ByteRounding : RoundingSteps {
  uint8_t zero = 0, least = 0, most = 0;
  uint8_t flip = 0;
  // Whether sums of 32 bits, times their factors, stay below 31 bits.
  bool in_range = false;

  ByteRounding() = default;
  ByteRounding(const RoundingSteps& steps, bool is_signed, float largest_factor)
      : RoundingSteps(steps), flip(is_signed ? 0x80 : 0), in_range(largest_factor < 1) {
    const auto byte = [&](float integer) { return static_cast<uint8_t>(integer + flip); };
    const auto at_zero = static_cast<float>(zero_point);
    zero = byte(at_zero), least = byte(at_zero + low), most = byte(at_zero + high);
  }
};

// `steps` from the zero point as an integer. In comparisons that compilers turn into vector
// minima and maxima; NaN is the lowest.
inline int32_t Rounded(float steps, const RoundingSteps& rounding) {
  float rounded = std::nearbyint(steps);
  rounded = rounded > rounding.low ? rounded : rounding.low;
  rounded = rounded < rounding.high ? rounded : rounding.high;
  return static_cast<int32_t>(rounded) + rounding.zero_point;
}

// What is added to the sums of a convolution once they are rounded, where anything is: with a, the
// steps of a rounded sum from its zero point,
//   y = rint((a * a_scale + (z - zero point) * z_scale) / y_scale)
// in Float32, rounded after each operation, as ElemwiseMultiType has it.
struct TileSum {
  float low, high;  // of a
  float a_scale, z_scale, y_scale;
  uint8_t z_flip;      // signed bytes are read as unsigned ones 128 above their values,
  float z_zero_point;  // and so is their zero point
  // a * of_a + z * of_z + shift is near that quotient; where it is at most `surely` from an
  // integer, both are rounded to that.
  float of_a, of_z, shift, surely;

  TileSum() = default;
  // Each number that is rounded on the way to the product or to the quotient is at most 255 (of_a +
  // of_z) steps, and they are some twelve.
  TileSum(float least, float most, float a, float z, int32_t zero_point, bool is_signed, float y)
      : low(least),
        high(most),
        a_scale(a),
        z_scale(z),
        y_scale(y),
        z_flip(is_signed ? 0x80 : 0),
        z_zero_point(static_cast<float>(zero_point + z_flip)),
        of_a(a / y),
        of_z(z / y),
        shift(-z_zero_point * of_z),
        surely(of_a + of_z < kMost ? 0.5f - 0x1p-21f * 256 * (of_a + of_z) : -1) {}

  // Steps of y a step of a and of z: with more, none is surely rounded, and without, all are far
  // below 31 bits.
  static constexpr float kMost = 1024;

  // In steps of y, from a in Float32.
  float StepsOf(float a, uint8_t z) const {
    const float b = static_cast<float>(z ^ z_flip) - z_zero_point;
    return (a * a_scale + b * z_scale) / y_scale;
  }
};

struct TileCall {
  // By tap and pixel: input channels of the tap, side by side; outside the image those of a pixel
  // that is the zero point throughout.
  const uint8_t* const* taps;
  int64_t num_taps, depth;  // depth: input channels
  // By panel [taps, ceil(depth / kDepth), kPanel, kDepth], and the bytes from one panel to the
  // next.
  const int8_t* weights;
  int64_t panel_step;
  // Weights of later calls: each step of kDepth channels fetches a line of them to the second-level
  // cache, kLine bytes each; or any line, and 0.
  const int8_t* ahead;
  int64_t ahead_step;
  // By channel of whole panels: what is added to the sums of products, and their factors.
  const int32_t* start;
  const float* factors;
  ByteRounding rounding;
  uint8_t* const* dst;      // by pixel
  const TileSum* sum;       // null: nothing is added
  const uint8_t* const* z;  // by pixel, like dst
  int64_t channel;          // the first, from there on
  int64_t channels;         // of the panels that there are
};

using TileFunction = void (*)(const TileCall& call);

// Each channel has a filter of its own.
struct DepthwiseCall {
  // By pixel: where its taps' channels 0 lie, in groups of kDepth, and the bytes from there on.
  const uint8_t* const* const* taps;
  const int64_t* offset;
  // Where groups are columns of a window of kShared x kShared, and pixels lie a column apart: by
  // pixel, how many from there on lie in one row with all columns of their windows in the image,
  // and by row of the window the bytes from a column to the next, 0 for rows outside. Null: of
  // other windows.
  const int64_t* shared;
  const int64_t* const* steps;
  int64_t pixels, groups;
  const int8_t* weights;  // by panel [groups, kPanel, kDepth]
  int64_t panel_step;
  const int32_t* start;  // by channel of whole panels
  const float* factors;
  ByteRounding rounding;
  uint8_t* const* dst;  // by pixel
  int64_t channel, channels;
};

inline constexpr int64_t kShared = 3;
using DepthwiseFunction = void (*)(const DepthwiseCall& call);

// The code for one instruction set. Bytes of signed images count as kSignedOffset more.
struct TileCode {
  static constexpr int64_t kMostPixels = 14, kMostPanels = 2, kMostDepthwiseChannels = 64;
  static constexpr int32_t kSignedOffset = 128;
  int64_t pixels, panels;      // of the largest tile
  int64_t depthwise_channels;  // of a call, at most
  // run[is_signed][b][p]: tiles of p pixels by b panels.
  TileFunction run[2][kMostPanels + 1][kMostPixels + 1];
  DepthwiseFunction depthwise[2];  // by is_signed
};

// Null where there is none: another architecture runs it, or nothing wider than the baseline.
const TileCode* TileCodeFor(const Processor& processor);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_
