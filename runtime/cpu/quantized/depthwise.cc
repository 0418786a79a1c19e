// 8-bit convolution channel by channel, if each channel has its own filter.
#include <algorithm>
#include <cstring>

#include "graph/region.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/quantized/conv_problem.h"

namespace ashlar::cpu {
namespace {

// For processors without special code.
template <typename Element>
void DepthwisePixels(const DepthwiseCall& call) {
  for (int64_t p = 0; p < call.pixels; ++p) {
    const uint8_t* const* const taps = call.taps[p];
    const int64_t channel = call.channel + call.offset[p];
    uint32_t sums[kPanel];  // wrap around, as in vectors
    std::copy_n(call.start, kPanel, sums);
    for (int64_t tap = 0; tap < call.groups * kDepth; ++tap) {
      const auto* const x = reinterpret_cast<const Element*>(taps[tap]) + channel;
      const int8_t* const w = call.weights + tap / kDepth * kPanel * kDepth + tap % kDepth;
      const auto add = [&](int64_t n) {
        for (int64_t c = 0; c < n; ++c) sums[c] += static_cast<uint32_t>(x[c] * w[c * kDepth]);
      };
      call.channels == kPanel ? add(kPanel) : add(call.channels);
    }
    uint8_t* const dst = call.dst[p] + call.channel;
    for (int64_t c = 0; c < call.channels; ++c) {
      const float steps = static_cast<float>(static_cast<int32_t>(sums[c])) * call.factors[c];
      dst[c] = static_cast<uint8_t>(Rounded(steps, call.rounding));
    }
  }
}

class DepthwiseConvolution final : public Kernel {
 public:
  DepthwiseConvolution(QuantizedConvProblem problem, const Processor& processor)
      : problem_(std::move(problem)), set_(processor.vectors()) {
    const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
    const TileCode* const code = TileCodeFor(processor);
    shares_ = code != nullptr && h.window == kShared && w.window == kShared && w.stride == 1 &&
              w.dilation == 1;
    if (code != nullptr) {
      run_ = code->depthwise[problem_.is_signed];
      block_ = code->depthwise_channels;
      offset_ = code->offset[problem_.is_signed];
    } else {
      run_ = problem_.is_signed ? Versions<DepthwisePixels<int8_t>>::For(processor.isa)
                                : Versions<DepthwisePixels<uint8_t>>::For(processor.isa);
    }
    factors_ = problem_.to.factors;
    factors_.resize(static_cast<size_t>(RoundUp(channels(), TileCode::kMostDepthwiseChannels)));
  }

  std::string implementation() const override {
    return absl::StrCat("int8:depthwise:", set_.ToString());
  }
  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    return Packing{absl::StrCat("int8 depthwise ", problem_.to.source_zero_point,
                                problem_.flipped ? " flipped" : "", shares_ ? " by columns" : ""),
                   outside_bytes() + CeilDivide(channels(), kPanel) * panel_bytes()};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    const int8_t* const filter = value.data<int8_t>().data();
    auto* const bytes = static_cast<int8_t*>(packed);
    std::memset(bytes, problem_.to.source_zero_point & 0xff, static_cast<size_t>(outside_bytes()));
    int8_t* panel = bytes + outside_bytes();
    for (int64_t first = 0; first < channels(); first += kPanel, panel += panel_bytes()) {
      std::memset(panel, 0, static_cast<size_t>(panel_bytes()));
      for (int64_t lane = 0; lane < std::min(kPanel, channels() - first); ++lane) {
        const int8_t* const own = filter + (first + lane) * problem_.taps();
        int32_t sum = 0;
        for (int64_t tap = 0; tap < problem_.taps(); ++tap) {
          const int8_t weight = own[problem_.FilterTap(tap)];
          const int64_t place = PlaceOf(tap);
          sum += weight;
          panel[kSumBytes + (place / kDepth * kPanel + lane) * kDepth + place % kDepth] = weight;
        }
        std::memcpy(panel + lane * static_cast<int64_t>(sizeof(sum)), &sum, sizeof(sum));
      }
    }
    return absl::OkStatus();
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    const ConvolutionGeometry& g = problem_.geometry;
    const int64_t most = kChunkTaps / (groups() * kDepth);
    const int64_t pixels = g.batch * g.h.output * g.w.output;
    const int64_t products = std::max<int64_t>(1, channels() * problem_.taps());
    const int64_t grain = std::max<int64_t>(1, 16 * kElementsPerThread / products);
    ParallelFor(problem_.threads, pixels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += most) {
        RunPixels(args, i, std::min(most, end - i));
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kSumBytes = kPanel * sizeof(int32_t);

  int64_t channels() const { return problem_.geometry.groups; }
  int64_t groups() const { return shares_ ? kShared : CeilDivide(problem_.taps(), kDepth); }
  // Returns the position of a tap in the groups: in order, or one group per column if windows share
  // columns.
  int64_t PlaceOf(int64_t tap) const {
    return shares_ ? tap % kShared * kDepth + tap / kShared : tap;
  }
  int64_t outside_bytes() const { return RoundUp(channels(), 64); }
  int64_t panel_bytes() const { return kSumBytes + groups() * kPanel * kDepth; }

  void RunPixels(const KernelArgs& args, int64_t begin, int64_t count) const;

  QuantizedConvProblem problem_;
  InstructionSet set_;
  bool shares_;  // adjacent outputs share columns of their windows (DepthwiseCall::shared)
  DepthwiseFunction run_;
  int64_t block_ = kPanel;
  int32_t offset_ = 0;  // TileCode::OffsetOf
  std::vector<float> factors_;
};

// Inner pixels of a row use the sources of the first of them, shifted.
void DepthwiseConvolution::RunPixels(const KernelArgs& args, int64_t begin, int64_t count) const {
  const auto* const src = args.Input<uint8_t>(ConvBiasForward::kSrc);
  const auto* const bias = args.Input<int32_t>(ConvBiasForward::kBias);
  const auto* const outside = args.Input<uint8_t>(ConvBiasForward::kFilter);
  const auto* const panels = reinterpret_cast<const int8_t*>(outside) + outside_bytes();
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const Range rows = h.Whole(), columns = w.Whole();
  const uint8_t* sources[kChunkTaps];
  const uint8_t* const* taps[kChunkTaps / kDepth];
  int64_t offset[kChunkTaps / kDepth];
  uint8_t* dst[kChunkTaps / kDepth];
  int64_t shared[kChunkTaps / kDepth];
  int64_t steps[kChunkTaps / kDepth][kShared];
  const int64_t* steps_of[kChunkTaps / kDepth];
  const uint8_t** own = sources;
  PixelCursor at(problem_, begin);
  for (int64_t done = 0, row = 0; done < count; done += row, at.Advance(row)) {
    const uint8_t* found[kMostTaps];
    SourcesOf(problem_, src + at.n * problem_.src.n, at.oh, at.ow, outside, found, 1);
    std::fill_n(own, groups() * kDepth, found[0]);  // taps without weight
    for (int64_t tap = 0; tap < problem_.taps(); ++tap) own[PlaceOf(tap)] = found[tap];
    const bool beside = at.ow < columns.begin || at.ow >= columns.end;
    const bool alone = beside || (!shares_ && (at.oh < rows.begin || at.oh >= rows.end));
    row = alone ? 1 : std::min(at.RestOfRow(count - done), columns.end - at.ow);
    uint8_t* const to = args.Output<uint8_t>(0) + at.OffsetIn(problem_.dst);
    for (int64_t r = 0; r < kShared && shares_; ++r) {
      const int64_t y = h.Origin(at.oh) + r * h.dilation;
      steps[done][r] = y >= 0 && y < h.input ? problem_.src.w : 0;
    }
    for (int64_t i = 0; i < row; ++i) {
      shared[done + i] = beside ? 0 : row - i;
      steps_of[done + i] = steps[done];
      taps[done + i] = own;
      offset[done + i] = i * w.stride * problem_.src.w;
      dst[done + i] = to + i * problem_.dst.w;
    }
    own += groups() * kDepth;
  }
  const int32_t zero_point = problem_.to.source_zero_point + offset_;
  for (int64_t first = 0; first < channels(); first += block_) {
    const int8_t* const panel = panels + first / kPanel * panel_bytes();
    const int64_t channels = std::min(block_, this->channels() - first);
    int32_t start[TileCode::kMostDepthwiseChannels] = {};
    StartOf(panel, panel_bytes(), bias + first, channels, zero_point, start);
    run_({.taps = taps,
          .offset = offset,
          .shared = shares_ ? shared : nullptr,
          .steps = steps_of,
          .pixels = count,
          .groups = groups(),
          .weights = panel + kSumBytes,
          .panel_step = panel_bytes(),
          .start = start,
          .factors = factors_.data() + first,
          .rounding = problem_.rounding,
          .dst = dst,
          .channel = first,
          .channels = channels});
  }
}

}  // namespace

std::unique_ptr<Kernel> QuantizedDepthwise(const QuantizedConvProblem& problem,
                                           const Processor& processor) {
  const ConvolutionGeometry& g = problem.geometry;
  const bool fits = g.in_channels == 1 && g.out_channels == 1 && problem.src.c == 1 &&
                    problem.dst.c == 1 && problem.taps() <= kMostTaps && !problem.sum;
  return fits ? std::make_unique<DepthwiseConvolution>(problem, processor) : nullptr;
}

}  // namespace ashlar::cpu
