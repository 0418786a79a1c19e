// Shared by the kernels of 8-bit convolutions: their view of the request, and the walk over
// outputs.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_CONV_PROBLEM_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_CONV_PROBLEM_H_

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "graph/region.h"
#include "opr/quantized_conv.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/quantized/tile.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Size of stack arrays that hold the sources of a piece of work.
inline constexpr int64_t kChunkTaps = 2048;
static_assert(kChunkTaps >= kMostTaps * TileCode::kMostPixels);

struct QuantizedConvProblem {
  ConvolutionGeometry geometry;
  Requantization to;         // of the convolution alone, if a tensor is added
  ImageStrides src, dst, z;  // in bytes
  bool flipped, is_signed;
  int threads;
  std::optional<TileSum> sum;
  ByteRounding rounding;  // for the output

  // Whether a tensor is added, and whether sums are joined (TileSum::joins).
  bool adds() const { return sum && !sum->first; }
  bool joins() const { return sum && sum->joins; }
  bool unfinished() const { return joins() && sum->unfinished; }
  int64_t taps() const { return geometry.h.window * geometry.w.window; }
  int64_t row_products() const {
    return geometry.w.output * taps() * geometry.in_channels * geometry.groups *
           geometry.out_channels;
  }
  // Returns the position, in a row-major filter, of the weight of `tap`.
  int64_t FilterTap(int64_t tap) const { return flipped ? taps() - 1 - tap : tap; }
};

// Finds the source of each tap of pixel (oh, ow), at channel 0; `outside` if it is in the padding.
inline void SourcesOf(const QuantizedConvProblem& problem, const uint8_t* image, int64_t oh,
                      int64_t ow, const uint8_t* outside, const uint8_t** sources, int64_t step) {
  const WindowAxis &h = problem.geometry.h, &w = problem.geometry.w;
  const int64_t top = h.Origin(oh), left = w.Origin(ow);
  const bool whole =
      top >= 0 && top + h.extent() <= h.input && left >= 0 && left + w.extent() <= w.input;
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t y = top + kh * h.dilation;
    const uint8_t* const row = image + y * problem.src.h + left * problem.src.w;
    const int64_t column = w.dilation * problem.src.w;
    for (int64_t kw = 0; kw < w.window; ++kw, sources += step) {
      const int64_t x = left + kw * w.dilation;
      const bool inside = whole || (y >= 0 && y < h.input && x >= 0 && x < w.input);
      *sources = inside ? row + kw * column : outside;
    }
  }
}

// The same for `count` pixels of row oh from column ow on. The pixels of a tap are adjacent; taps
// are `step` entries apart.
inline void SourcesOfRow(const QuantizedConvProblem& problem, const uint8_t* image, int64_t oh,
                         int64_t ow, int64_t count, const uint8_t* outside, const uint8_t** sources,
                         int64_t step) {
  const WindowAxis &h = problem.geometry.h, &w = problem.geometry.w;
  const int64_t end = ow + count;
  // The columns whose taps all lie inside the row, away from its padding.
  const Range whole = w.Whole();
  const int64_t first = std::clamp(whole.begin, ow, end);
  const int64_t last = std::clamp(whole.end, first, end);
  const auto find = [&](int64_t from, int64_t to) {
    for (int64_t x = from; x < to; ++x) {
      SourcesOf(problem, image, oh, x, outside, sources + (x - ow), step);
    }
  };
  find(ow, first);
  find(last, end);
  const int64_t stride = w.stride * problem.src.w;
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t y = h.Origin(oh) + kh * h.dilation;
    const uint8_t* const row = image + y * problem.src.h + w.Origin(first) * problem.src.w;
    for (int64_t kw = 0; kw < w.window; ++kw, sources += step) {
      const uint8_t** const own = sources + (first - ow);
      if (y < 0 || y >= h.input) {
        std::fill_n(own, last - first, outside);
        continue;
      }
      const uint8_t* const from = row + kw * w.dilation * problem.src.w;
      for (int64_t i = 0; i < last - first; ++i) own[i] = from + i * stride;
    }
  }
}

// A cursor that visits outputs in order, starting from number `begin`.
class PixelCursor {
 public:
  int64_t ow, oh, n;

  PixelCursor(const QuantizedConvProblem& problem, int64_t begin)
      : ow(begin % problem.geometry.w.output),
        oh(begin / problem.geometry.w.output % problem.geometry.h.output),
        n(begin / problem.geometry.w.output / problem.geometry.h.output),
        problem_(problem) {}

  // Returns how many pixels, at most `most`, remain in this row.
  int64_t RestOfRow(int64_t most) const { return std::min(most, problem_.geometry.w.output - ow); }
  // Moves by at most RestOfRow pixels.
  void Advance(int64_t pixels) {
    ow += pixels;
    if (ow < problem_.geometry.w.output) return;
    ow = 0;
    if (++oh < problem_.geometry.h.output) return;
    oh = 0;
    ++n;
  }
  // Returns the offset of channel 0 in a tensor of the output's shape.
  int64_t OffsetIn(const ImageStrides& strides) const {
    return n * strides.n + oh * strides.h + ow * strides.w;
  }

 private:
  const QuantizedConvProblem& problem_;
};

// Computes the initial values of sums, by channel: the bias minus the zero point's contribution to
// the products. The sums of a panel's weights are stored before the weights. Values wrap around, as
// the sums of vectors do: a sum that fits 32 bits is exact.
inline void StartOf(const int8_t* panel, int64_t panel_step, const int32_t* bias, int64_t channels,
                    int32_t zero_point, int32_t* start) {
  for (int64_t first = 0; first < channels; first += kPanel, panel += panel_step) {
    int32_t sums[kPanel];
    std::memcpy(sums, panel, sizeof(sums));
    const auto set = [&](int64_t count) {
      for (int64_t c = 0; c < count; ++c) {
        start[first + c] = static_cast<int32_t>(static_cast<uint32_t>(bias[first + c]) -
                                                static_cast<uint32_t>(zero_point * sums[c]));
      }
    };
    channels - first >= kPanel ? set(kPanel) : set(channels - first);
  }
}

// Returns the kernel for problems with one filter per channel whose weights are constant, otherwise
// null. Weights are packed in panels of kPanel channels like the tiles', but in groups of kDepth
// taps instead of input channels. Work is split into chunks of pixels.
std::unique_ptr<Kernel> QuantizedDepthwise(const QuantizedConvProblem& problem,
                                           const Processor& processor);

// Returns whether register tiles compute a problem whose weights are constant.
bool FitsRegisterTiles(const QuantizedConvProblem& problem, const Processor& processor);
// Returns their kernel.
std::unique_ptr<Kernel> RegisterTiles(const QuantizedConvProblem& problem,
                                      const Processor& processor, double relative_time);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_CONV_PROBLEM_H_
