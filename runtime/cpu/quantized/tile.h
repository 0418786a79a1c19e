// Tiles of 8-bit convolutions: sums all products for some pixels and output channels in 32-bit
// registers, and rounds them to the output's integers at once.
//
// Each instruction set has a file of its own, compiled with that set's flags. All read the same
// weight layout and give bit-identical results: integers are exact, and Float32 is rounded after
// each operation.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_

#include <cmath>
#include <cstdint>

#include "opr/base/fixed_point_sum.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

inline constexpr int64_t kPanel = 16;      // output channels whose weights are stored together
inline constexpr int64_t kDepth = 4;       // products added to a sum in one step
inline constexpr int64_t kMostTaps = 128;  // taps of a window
inline constexpr int64_t kLine = 64;       // bytes of a cache line

// The rounding of Float32 sums to integers of the output: half to even, clamped to [low, high], in
// steps from the zero point.
struct RoundingSteps {
  float low, high;
  int32_t zero_point;
};

// For output integers from `least` to `most`.
inline RoundingSteps RoundingBetween(int32_t least, int32_t most, int32_t zero_point) {
  return {static_cast<float>(least - zero_point), static_cast<float>(most - zero_point),
          zero_point};
}

// The same for vectors, which clamp after packing to unsigned bytes. Signed outputs are computed as
// unsigned bytes 128 larger, then their high bit is flipped.
struct ByteRounding : RoundingSteps {
  uint8_t zero = 0, least = 0, most = 0;
  uint8_t flip = 0;
  // Whether 32-bit sums, times their factors, fit in 31 bits.
  bool in_range = false;

  ByteRounding() = default;
  ByteRounding(const RoundingSteps& steps, bool is_signed, float largest_factor)
      : RoundingSteps(steps), flip(is_signed ? 0x80 : 0), in_range(largest_factor < 1) {
    const auto byte = [&](float integer) { return static_cast<uint8_t>(integer + flip); };
    const auto at_zero = static_cast<float>(zero_point);
    zero = byte(at_zero), least = byte(at_zero + low), most = byte(at_zero + high);
  }
};

// Returns the integer for `steps` from the zero point. Its comparisons compile to vector minima and
// maxima; NaN becomes the lowest.
inline int32_t Rounded(float steps, const RoundingSteps& rounding) {
  float rounded = std::nearbyint(steps);
  rounded = rounded > rounding.low ? rounded : rounding.low;
  rounded = rounded < rounding.high ? rounded : rounding.high;
  return static_cast<int32_t>(rounded) + rounding.zero_point;
}

// The tensor that is added to the rounded sums of a convolution, if any. With a = the rounded sum
// in steps from its zero point:
//   y = rint((a * a_scale + (z - zero point) * z_scale) / y_scale)
// in Float32, rounded after each operation, or in fixed-point numbers, as ElemwiseMultiType does.
struct TileSum {
  float low, high;  // bounds of a
  float a_scale, z_scale, y_scale;
  FixedPointSum fixed;  // if not absent, replaces the scales
  uint8_t z_flip;       // signed bytes are read as unsigned ones 128 larger,
  float z_zero_point;   // and so is their zero point
  // a * of_a + z * of_z + shift approximates that quotient. If it is at most `surely` from an
  // integer, the exact quotient rounds to the same integer.
  float of_a, of_z, shift, surely;
  // Instead, z is Int32 and counts as a part of the sums; possibly there is none (`first`). The
  // output is Int32 sums, too, if they are `unfinished`.
  bool joins = false, first = false, unfinished = false;

  TileSum() = default;
  static TileSum Joining(bool first, bool unfinished) {
    TileSum sum = {};
    sum.joins = true;
    sum.first = first;
    sum.unfinished = unfinished;
    return sum;
  }
  // About twelve intermediate results are rounded. Each is at most 255 * (of_a + of_z) steps.
  TileSum(float least, float most, float a, float z, int32_t zero_point, bool is_signed, float y,
          const FixedPointSum& fixed = {})
      : low(least),
        high(most),
        a_scale(a),
        z_scale(z),
        y_scale(y),
        fixed(fixed),
        z_flip(is_signed ? 0x80 : 0),
        z_zero_point(static_cast<float>(zero_point + z_flip)),
        of_a(fixed.absent() ? a / y : std::ldexp(static_cast<float>(fixed.a), -fixed.shift)),
        of_z(fixed.absent() ? z / y : std::ldexp(static_cast<float>(fixed.b), -fixed.shift)),
        shift(-z_zero_point * of_z),
        surely(of_a + of_z < kMost ? 0.5f - 0x1p-21f * 256 * (of_a + of_z) : -1) {}

  // Limit on steps of y per step of a and of z. Above it, no result is certain; below it, all fit
  // well within 31 bits.
  static constexpr float kMost = 1024;

  // Returns steps of y, from `a` in Float32.
  float StepsOf(float a, uint8_t z) const {
    const float b = static_cast<float>(z ^ z_flip) - z_zero_point;
    if (!fixed.absent()) {
      return static_cast<float>(fixed.Of(static_cast<int32_t>(a), static_cast<int32_t>(b)));
    }
    return (a * a_scale + b * z_scale) / y_scale;
  }
};

struct TileCall {
  // By tap and pixel: the tap's input channels, contiguous. Outside the image, this is a pixel that
  // equals the zero point in all channels.
  const uint8_t* const* taps;
  int64_t num_taps, depth;  // depth: input channels
  // Panels [taps, ceil(depth / kDepth), kPanel, kDepth], and the bytes between panels.
  const int8_t* weights;
  int64_t panel_step;
  // Weights of later calls to prefetch into the second-level cache: each step of kDepth channels
  // fetches kLine bytes. Or any valid address, with a step of 0.
  const int8_t* ahead;
  int64_t ahead_step;
  // By channel, padded to whole panels: the initial values of sums, and the factors of sums.
  const int32_t* start;
  const float* factors;
  ByteRounding rounding;
  uint8_t* const* dst;      // by pixel
  const TileSum* sum;       // null: nothing is added
  const uint8_t* const* z;  // by pixel, like dst
  int64_t channel;          // the first channel
  int64_t channels;         // number of channels, over all panels
};

using TileFunction = void (*)(const TileCall& call);

// The arguments if each channel has a filter of its own.
struct DepthwiseCall {
  // By pixel: the addresses of its taps at channel 0, in groups of kDepth, and the byte offset to
  // add.
  const uint8_t* const* const* taps;
  const int64_t* offset;
  // Only for windows of kShared x kShared, if groups are columns of the window and pixels are
  // adjacent columns; otherwise null. `shared`, by pixel: how many pixels from it on lie in the
  // same row with all columns of their windows in the image. `steps`, by row of the window: the
  // bytes between columns, 0 for rows outside.
  const int64_t* shared;
  const int64_t* const* steps;
  int64_t pixels, groups;
  const int8_t* weights;  // panels [groups, kPanel, kDepth]
  int64_t panel_step;
  const int32_t* start;  // by channel, padded to whole panels
  const float* factors;
  ByteRounding rounding;
  uint8_t* const* dst;  // by pixel
  int64_t channel, channels;
};

inline constexpr int64_t kShared = 3;
using DepthwiseFunction = void (*)(const DepthwiseCall& call);

// Sets y[i] = table[x[i]] for n bytes; `table` has 256. y may be x.
using TableFunction = void (*)(const uint8_t* table, const uint8_t* x, uint8_t* y, int64_t n);

// The code for one instruction set.
struct TileCode {
  static constexpr int64_t kMostPixels = 14, kMostPanels = 2, kMostDepthwiseChannels = 64;
  int64_t pixels, panels;      // the largest tile
  int64_t depthwise_channels;  // the most channels of a call
  int32_t offset[2];  // by is_signed: how much larger than they are bytes of the image count
  // run[is_signed][b][p]: tiles of p pixels by b panels.
  TileFunction run[2][kMostPanels + 1][kMostPixels + 1];
  DepthwiseFunction depthwise[2];  // by is_signed
  TableFunction table;
};

// Returns null if there is none: the plan is for another architecture, or the processor has only
// the baseline.
const TileCode* TileCodeFor(const Processor& processor);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_TILE_H_
