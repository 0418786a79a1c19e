// 8-bit convolution in three ways: by tiles of registers over packed weights, channel by channel
// where each has a filter of its own, and element by element where neither fits.
#include <algorithm>
#include <cstring>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/quantized_conv.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kChannels = 32;        // that a depthwise convolution computes at a time
constexpr int64_t kFew = kChannelBlock;  // channels of images that may come in planes

struct Problem {
  ConvolutionGeometry geometry;
  Requantization to;
  ImageStrides src, dst;  // in bytes
  bool flipped, is_signed;
  int threads;

  int64_t taps() const { return geometry.h.window * geometry.w.window; }
  int64_t row_products() const {
    return geometry.w.output * taps() * geometry.in_channels * geometry.groups *
           geometry.out_channels;
  }
  RoundingSteps rounding() const { return RoundingBetween(to.least, to.most, to.zero_point); }
  // The place of a weight of row-major filters that the tap is multiplied with.
  int64_t FilterTap(int64_t tap) const { return flipped ? taps() - 1 - tap : tap; }
};

// Calls row(image, row) for all rows of the output, from several threads.
template <typename Row>
void ForEachOutputRow(const Problem& problem, const Row& row) {
  const int64_t rows = problem.geometry.h.output;
  const int64_t grain =
      std::max<int64_t>(1, 16 * kElementsPerThread / std::max<int64_t>(problem.row_products(), 1));
  ParallelFor(problem.threads, problem.geometry.batch * rows, grain,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) row(i / rows, i % rows);
              });
}

// The source of each tap of pixel (oh, ow), at channel 0; `outside` where it is in the padding.
void SourcesOf(const Problem& problem, const uint8_t* image, int64_t oh, int64_t ow,
               const uint8_t* outside, const uint8_t** sources, int64_t step) {
  const WindowAxis &h = problem.geometry.h, &w = problem.geometry.w;
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t y = h.Origin(oh) + kh * h.dilation;
    for (int64_t kw = 0; kw < w.window; ++kw) {
      const int64_t x = w.Origin(ow) + kw * w.dilation;
      const bool inside = y >= 0 && y < h.input && x >= 0 && x < w.input;
      *sources = inside ? image + y * problem.src.h + x * problem.src.w : outside;
      sources += step;
    }
  }
}

// Weights in panels of kPanel output channels: their sums, then the weights as a tile reads them;
// in front a pixel of the zero point.
class TiledConvolution final : public Kernel {
 public:
  explicit TiledConvolution(Problem problem) : problem_(std::move(problem)) {
    // Whole panels of factors, so that tiles load them whole.
    const ConvolutionGeometry& g = problem_.geometry;
    for (int64_t group = 0; group < g.groups; ++group) {
      for (int64_t c = 0; c < panels() * kPanel; ++c) {
        const int64_t channel = group * g.out_channels + std::min(c, g.out_channels - 1);
        factors_.push_back(problem_.to.factors[static_cast<size_t>(channel)]);
      }
    }
  }

  std::string implementation() const override { return "int8:avx2"; }
  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    const int64_t bytes = outside_bytes() + problem_.geometry.groups * panels() * panel_bytes();
    return Packing{absl::StrCat("int8 ", kPanel, "x", kDepth, " ", problem_.to.source_zero_point,
                                problem_.flipped ? " flipped" : ""),
                   bytes};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override;
  absl::Status Run(const KernelArgs& args, KernelState*) const override;

 private:
  int64_t panels() const { return CeilDivide(problem_.geometry.out_channels, kPanel); }
  int64_t steps() const { return CeilDivide(problem_.geometry.in_channels, kDepth); }
  int64_t outside_bytes() const { return CeilDivide(problem_.geometry.in_channels, 64) * 64; }
  int64_t panel_bytes() const {
    return kPanel * static_cast<int64_t>(sizeof(int32_t)) +
           problem_.taps() * steps() * kPanel * kDepth;
  }

  Problem problem_;
  std::vector<float> factors_;
};

absl::Status TiledConvolution::Pack(int, const HostTensor& value, void* packed) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const int8_t* const filter = value.data<int8_t>().data();
  uint8_t* const outside = static_cast<uint8_t*>(packed);
  std::memset(outside, problem_.to.source_zero_point & 0xff, static_cast<size_t>(outside_bytes()));
  int8_t* panel = static_cast<int8_t*>(packed) + outside_bytes();
  const int64_t taps = problem_.taps();
  for (int64_t i = 0; i < g.groups * panels(); ++i, panel += panel_bytes()) {
    std::memset(panel, 0, static_cast<size_t>(panel_bytes()));
    int8_t* const weights = panel + kPanel * sizeof(int32_t);
    const int64_t group = i / panels(), first = i % panels() * kPanel;
    for (int64_t lane = 0; lane < std::min(kPanel, g.out_channels - first); ++lane) {
      const int8_t* const own =
          filter + (group * g.out_channels + first + lane) * g.in_channels * taps;
      int32_t sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < g.in_channels; ++c) {
          const int8_t weight = own[c * taps + problem_.FilterTap(tap)];
          sum += weight;
          weights[((tap * steps() + c / kDepth) * kPanel + lane) * kDepth + c % kDepth] = weight;
        }
      }
      std::memcpy(panel + lane * static_cast<int64_t>(sizeof(sum)), &sum, sizeof(sum));
    }
  }
  return absl::OkStatus();
}

absl::Status TiledConvolution::Run(const KernelArgs& args, KernelState*) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const auto* const src = static_cast<const uint8_t*>(args.inputs[ConvBiasForward::kSrc]);
  const auto* const outside = static_cast<const uint8_t*>(args.inputs[ConvBiasForward::kFilter]);
  const auto* const bias = static_cast<const int32_t*>(args.inputs[ConvBiasForward::kBias]);
  auto* const dst = static_cast<uint8_t*>(args.outputs[0]);
  const int64_t taps = problem_.taps();
  ForEachOutputRow(problem_, [&](int64_t n, int64_t oh) {
    const uint8_t* const image = src + n * problem_.src.n;
    uint8_t* const row = dst + n * problem_.dst.n + oh * problem_.dst.h;
    const uint8_t* sources[kMostTaps * kTilePixels];
    const uint8_t* of_group[kMostTaps * kTilePixels];
    uint8_t gathered[kMostTaps * kTilePixels][kFew];  // channels of planes, side by side
    for (int64_t ow = 0; ow < g.w.output; ow += kTilePixels) {
      const int64_t pixels = std::min(kTilePixels, g.w.output - ow);
      for (int64_t p = 0; p < pixels; ++p) {
        SourcesOf(problem_, image, oh, ow + p, nullptr, sources + p, pixels);
      }
      const TileFunction tile = Avx2Tile(pixels, problem_.is_signed);
      const uint8_t* panel = outside + outside_bytes();
      for (int64_t group = 0; group < g.groups; ++group) {
        for (int64_t i = 0; i < taps * pixels; ++i) {
          if (sources[i] == nullptr) {
            of_group[i] = outside;
          } else if (problem_.src.c == 1) {
            of_group[i] = sources[i] + group * g.in_channels;
          } else {
            of_group[i] = gathered[i];
            for (int64_t c = 0; c < g.in_channels; ++c) {
              gathered[i][c] = sources[i][(group * g.in_channels + c) * problem_.src.c];
            }
          }
        }
        for (int64_t i = 0; i < panels(); ++i, panel += panel_bytes()) {
          const int64_t first = i * kPanel, channel = group * g.out_channels + first;
          const int64_t channels = std::min(kPanel, g.out_channels - first);
          uint8_t* to[kTilePixels];
          for (int64_t p = 0; p < pixels; ++p) to[p] = row + (ow + p) * problem_.dst.w + channel;
          int32_t own_bias[kPanel] = {};
          std::copy_n(bias + channel, channels, own_bias);
          tile({.taps = of_group,
                .num_taps = taps,
                .depth = g.in_channels,
                .weights = reinterpret_cast<const int8_t*>(panel) + kPanel * sizeof(int32_t),
                .weight_sums = reinterpret_cast<const int32_t*>(panel),
                .bias = own_bias,
                .factors = factors_.data() + (group * panels() + i) * kPanel,
                .source_zero_point = problem_.to.source_zero_point,
                .rounding = problem_.rounding(),
                .dst = to,
                .channels = channels});
        }
      }
    }
  });
  return absl::OkStatus();
}

struct DepthwiseCall {
  const uint8_t* const* taps;  // null outside the image
  int64_t num_taps;
  const int8_t* weights;  // [taps, channels]
  int64_t channels;       // from one tap to the next
  const int32_t* bias;
  const float* factors;
  int32_t source_zero_point;
  RoundingSteps rounding;
  uint8_t* dst;
};

template <typename Element>
void DepthwisePixel(const DepthwiseCall& call) {
  for (int64_t first = 0; first < call.channels; first += kChannels) {
    const int64_t count = std::min(kChannels, call.channels - first);
    int32_t sums[kChannels] = {};
    const auto add = [&](const Element* x, const int8_t* w, int64_t n) {
#pragma omp simd
      for (int64_t c = 0; c < n; ++c) {
        const auto centred = static_cast<int16_t>(x[c] - call.source_zero_point);
        sums[c] += static_cast<int16_t>(centred * w[c]);  // at most 255 * 128
      }
    };
    for (int64_t tap = 0; tap < call.num_taps; ++tap) {
      if (call.taps[tap] == nullptr) continue;
      const auto* const x = reinterpret_cast<const Element*>(call.taps[tap]) + first;
      const int8_t* const w = call.weights + tap * call.channels + first;
      if (count == kChannels) {
        add(x, w, kChannels);
      } else {
        add(x, w, count);
      }
    }
    for (int64_t c = 0; c < count; ++c) {
      const float steps =
          static_cast<float>(sums[c] + call.bias[first + c]) * call.factors[first + c];
      call.dst[first + c] = static_cast<uint8_t>(Rounded(steps, call.rounding));
    }
  }
}

class DepthwiseConvolution final : public Kernel {
 public:
  DepthwiseConvolution(Problem problem, Isa isa)
      : problem_(std::move(problem)),
        isa_(isa),
        pixel_(problem_.is_signed ? Versions<DepthwisePixel<int8_t>>::For(isa)
                                  : Versions<DepthwisePixel<uint8_t>>::For(isa)) {}

  std::string implementation() const override {
    return absl::StrCat("int8:depthwise:", Name(isa_));
  }
  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    return Packing{absl::StrCat("int8 depthwise", problem_.flipped ? " flipped" : ""),
                   problem_.taps() * problem_.geometry.groups};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    const int8_t* const filter = value.data<int8_t>().data();
    auto* to = static_cast<int8_t*>(packed);
    for (int64_t tap = 0; tap < problem_.taps(); ++tap) {
      for (int64_t c = 0; c < problem_.geometry.groups; ++c) {
        *to++ = filter[c * problem_.taps() + problem_.FilterTap(tap)];
      }
    }
    return absl::OkStatus();
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    const auto* const src = static_cast<const uint8_t*>(args.inputs[ConvBiasForward::kSrc]);
    auto* const dst = static_cast<uint8_t*>(args.outputs[0]);
    ForEachOutputRow(problem_, [&](int64_t n, int64_t oh) {
      const uint8_t* sources[kMostTaps];
      DepthwiseCall call = {
          .taps = sources,
          .num_taps = problem_.taps(),
          .weights = static_cast<const int8_t*>(args.inputs[ConvBiasForward::kFilter]),
          .channels = problem_.geometry.groups,
          .bias = static_cast<const int32_t*>(args.inputs[ConvBiasForward::kBias]),
          .factors = problem_.to.factors.data(),
          .source_zero_point = problem_.to.source_zero_point,
          .rounding = problem_.rounding(),
          .dst = dst + n * problem_.dst.n + oh * problem_.dst.h};
      for (int64_t ow = 0; ow < problem_.geometry.w.output; ++ow) {
        SourcesOf(problem_, src + n * problem_.src.n, oh, ow, nullptr, sources, 1);
        pixel_(call);
        call.dst += problem_.dst.w;
      }
    });
    return absl::OkStatus();
  }

 private:
  Problem problem_;
  Isa isa_;
  void (*pixel_)(const DepthwiseCall&);
};

// Any strides, and a row-major filter that need not be constant.
template <typename Element>
void RunElements(const Problem& problem, const KernelArgs& args) {
  const ConvolutionGeometry& g = problem.geometry;
  const auto* const src = static_cast<const Element*>(args.inputs[ConvBiasForward::kSrc]);
  const auto* const filter = static_cast<const int8_t*>(args.inputs[ConvBiasForward::kFilter]);
  const auto* const bias = static_cast<const int32_t*>(args.inputs[ConvBiasForward::kBias]);
  auto* const dst = static_cast<uint8_t*>(args.outputs[0]);
  const int64_t taps = problem.taps();
  ForEachOutputRow(problem, [&](int64_t n, int64_t oh) {
    for (int64_t channel = 0; channel < g.groups * g.out_channels; ++channel) {
      const Element* const image =
          src + n * problem.src.n + channel / g.out_channels * g.in_channels * problem.src.c;
      const int8_t* const weights = filter + channel * g.in_channels * taps;
      for (int64_t ow = 0; ow < g.w.output; ++ow) {
        int32_t sum = bias[channel];
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t y = g.h.Origin(oh) + tap / g.w.window * g.h.dilation;
          const int64_t x = g.w.Origin(ow) + tap % g.w.window * g.w.dilation;
          if (y < 0 || y >= g.h.input || x < 0 || x >= g.w.input) continue;
          const Element* const pixel = image + y * problem.src.h + x * problem.src.w;
          for (int64_t c = 0; c < g.in_channels; ++c) {
            sum += (pixel[c * problem.src.c] - problem.to.source_zero_point) *
                   weights[c * taps + problem.FilterTap(tap)];
          }
        }
        const float steps =
            static_cast<float>(sum) * problem.to.factors[static_cast<size_t>(channel)];
        dst[n * problem.dst.n + channel * problem.dst.c + oh * problem.dst.h + ow * problem.dst.w] =
            static_cast<uint8_t>(
                Quantize(steps, problem.to.zero_point, problem.to.least, problem.to.most));
      }
    }
  });
}

}  // namespace

absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvBiasForward& op,
                                                       const KernelRequest& request) {
  const TensorType &src = request.inputs[ConvBiasForward::kSrc],
                   &filter = request.inputs[ConvBiasForward::kFilter];
  const TensorType& dst = request.outputs[0];
  Problem problem;
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry, InferConvolution(op.param(), src, filter));
  const ConvolutionGeometry& g = problem.geometry;
  problem.to = RequantizationOf(op.param(), src.quantization, filter.quantization, dst,
                                g.groups * g.out_channels);
  problem.src = StridesOf(src);
  problem.dst = StridesOf(dst);
  problem.flipped = op.param().mode == ConvolutionMode::kConvolution;
  problem.is_signed = src.dtype == DType::kQuantizedS8;
  problem.threads = request.threads;
  const bool packs = problem.dst.c == 1 && problem.taps() <= kMostTaps &&
                     request.constant[ConvBiasForward::kFilter];
  const bool together = packs && problem.src.c == 1;
  const bool tiles = together || (packs && g.in_channels <= kFew);
  KernelList kernels;
  if (together && g.in_channels == 1 && g.out_channels == 1) {
    kernels.push_back(
        std::make_unique<DepthwiseConvolution>(std::move(problem), request.processor.isa));
  } else if (tiles && Contains(request.processor.isa, Isa::kAvx2) && Avx2Tile(1, false)) {
    kernels.push_back(std::make_unique<TiledConvolution>(std::move(problem)));
  } else {
    const bool is_signed = problem.is_signed;
    return OnlyKernel("int8:elements", [=](const KernelArgs& args) {
      is_signed ? RunElements<int8_t>(problem, args) : RunElements<uint8_t>(problem, args);
    });
  }
  return kernels;
}

}  // namespace ashlar::cpu
