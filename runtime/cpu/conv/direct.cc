// Direct convolution by the loops of its definition, blocked. Sums for 16 output channels (the
// lanes) of up to 32 pixels of a row stay in the first-level cache. Four input channels are added
// at a time, so that a sum is loaded and stored once per four products. If a block of output
// channels belongs to several groups, each group is computed with all 16 lanes, but only its own
// are stored.
#include "runtime/cpu/conv/direct.h"

#include <algorithm>
#include <vector>

#include "graph/region.h"
#include "runtime/cpu/conv/activation.h"
#include "runtime/cpu/image_layout.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kTile = 32;     // pixels
constexpr int64_t kChannels = 4;  // input channels added at a time

// The part of a block of 16 output channels that belongs to one group.
struct Segment {
  int64_t block, group;
  int64_t first, last;  // lanes [first, last)
};

std::vector<Segment> Segments(const ConvolutionGeometry& geometry) {
  std::vector<Segment> segments;
  for (int64_t group = 0; group < geometry.groups; ++group) {
    const int64_t end = (group + 1) * geometry.out_channels;
    for (int64_t channel = group * geometry.out_channels; channel < end;) {
      const int64_t block = channel / kChannelBlock, base = block * kChannelBlock;
      const int64_t next = std::min(base + kChannelBlock, end);
      segments.push_back({block, group, channel - base, next - base});
      channel = next;
    }
  }
  return segments;
}

// Returns the filter as an image tensor, with groups and their output channels as one dimension.
TensorType FilterType(const ConvProblem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  return {DType::kFloat32,
          {g.groups * g.out_channels, g.in_channels, g.h.window, g.w.window},
          problem.filter.format};
}

struct Convolution {
  explicit Convolution(const ConvProblem& problem)
      : problem(problem),
        src(problem.src),
        filter(FilterType(problem)),
        z(problem.z.value_or(problem.dst)),
        dst(problem.dst),
        activation(problem.param, problem.processor.isa),
        segments(Segments(problem.geometry)),
        taps(problem.geometry.h.window * problem.geometry.w.window),
        segment_floats(problem.geometry.in_channels * taps * kChannelBlock) {}

  ConvProblem problem;
  ImageLayout src, filter, z, dst;
  BlockActivation activation;
  std::vector<Segment> segments;
  int64_t taps;            // in a window
  int64_t segment_floats;  // in the packed filter
};

struct Pointers {
  const float* src;
  const float* filter;  // packed
  const float* bias;    // may be null
  const float* z;       // may be null, or dst
  float* dst;
};

// Packs the filter of one segment. The order is: group of up to kChannels input channels, tap,
// channel of the group, lane. Lanes of other groups are zero.
void PackSegment(const Convolution& convolution, const Segment& segment, const float* filter,
                 float* packed) {
  const ConvolutionGeometry& geometry = convolution.problem.geometry;
  const ImageLayout& layout = convolution.filter;
  const int64_t taps = convolution.taps, w = geometry.w.window;
  for (int64_t begin = 0; begin < geometry.in_channels; begin += kChannels) {
    const int64_t end = std::min(begin + kChannels, geometry.in_channels);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t source_tap = convolution.problem.flipped() ? taps - 1 - tap : tap;
      for (int64_t channel = begin; channel < end; ++channel) {
        for (int64_t lane = 0; lane < kChannelBlock; ++lane) {
          const int64_t out = segment.block * kChannelBlock + lane;
          const bool own = lane >= segment.first && lane < segment.last;
          *packed++ =
              own ? filter[layout.Offset(out, channel, source_tap / w, source_tap % w)] : 0.0f;
        }
      }
    }
  }
}

// Returns the i in [0, count) with 0 <= first + i * step < limit.
Range Inside(int64_t first, int64_t step, int64_t limit, int64_t count) {
  const int64_t begin = first < 0 ? (step - 1 - first) / step : 0;
  const int64_t end = first < limit ? std::min(count, (limit - 1 - first) / step + 1) : 0;
  return {begin, std::max(begin, end)};
}

// Adds the products of `kCount` input channels to the sums of `pixels` pixels. x[k] is channel k of
// the first pixel; pixels are `step` floats apart.
template <int kCount>
void AddProducts(const float* const* x, int64_t step, const float* __restrict filter,
                 float* __restrict sums, int64_t pixels) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    float factor[kCount];
    for (int k = 0; k < kCount; ++k) factor[k] = x[k][pixel * step];
#pragma omp simd
    for (int64_t lane = 0; lane < kChannelBlock; ++lane) {
      float sum = sums[pixel * kChannelBlock + lane];
      for (int k = 0; k < kCount; ++k) sum += factor[k] * filter[k * kChannelBlock + lane];
      sums[pixel * kChannelBlock + lane] = sum;
    }
  }
}

// Adds the products of input channels [begin, begin + kCount) of the group to the sums of pixels
// [column, column + pixels) of output row `row`. `src` is the image; `filter` belongs to these
// channels.
template <int kCount>
void AddRun(const Convolution& convolution, const Segment& segment, int64_t begin, int64_t row,
            int64_t column, int64_t pixels, const float* src, const float* filter, float* sums) {
  const ConvolutionGeometry& geometry = convolution.problem.geometry;
  const WindowAxis &h = geometry.h, &w = geometry.w;
  const ImageLayout& layout = convolution.src;
  const Range rows = Inside(h.Origin(row), h.dilation, h.input, h.window);
  for (int64_t tap_h = rows.begin; tap_h < rows.end; ++tap_h) {
    const int64_t y = h.Origin(row) + tap_h * h.dilation;
    for (int64_t tap_w = 0; tap_w < w.window; ++tap_w) {
      const int64_t first = w.Origin(column) + tap_w * w.dilation;
      const Range range = Inside(first, w.stride, w.input, pixels);
      if (range.begin == range.end) continue;
      const float* x[kCount];
      for (int k = 0; k < kCount; ++k) {
        x[k] = src + layout.Offset(0, segment.group * geometry.in_channels + begin + k, y,
                                   first + range.begin * w.stride);
      }
      AddProducts<kCount>(x, w.stride * layout.step.w,
                          filter + (tap_h * w.window + tap_w) * kCount * kChannelBlock,
                          sums + range.begin * kChannelBlock, range.end - range.begin);
    }
  }
}

// Computes the sums of pixels [column, column + pixels) of output row `row`, starting with `start`
// for each lane. `src` is the image; `filter` belongs to the segment.
void Sum(const Convolution& convolution, const Segment& segment, int64_t row, int64_t column,
         int64_t pixels, const float* start, const float* src, const float* filter, float* sums) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    std::copy_n(start, kChannelBlock, sums + pixel * kChannelBlock);
  }
  const int64_t channels = convolution.problem.geometry.in_channels;
  for (int64_t begin = 0; begin < channels; begin += kChannels) {
    const float* const of_run = filter + begin * convolution.taps * kChannelBlock;
    switch (std::min(kChannels, channels - begin)) {
      case 1:
        AddRun<1>(convolution, segment, begin, row, column, pixels, src, of_run, sums);
        break;
      case 2:
        AddRun<2>(convolution, segment, begin, row, column, pixels, src, of_run, sums);
        break;
      case 3:
        AddRun<3>(convolution, segment, begin, row, column, pixels, src, of_run, sums);
        break;
      case kChannels:
        AddRun<kChannels>(convolution, segment, begin, row, column, pixels, src, of_run, sums);
        break;
    }
  }
}

// Calls visit(i, j) for each sum i and its element j of a tensor, for lanes [first, last). `base`
// is the element of lane 0 of the first pixel.
template <typename Visit>
void ForEachSum(const ImageLayout& layout, int64_t base, int64_t first, int64_t last,
                int64_t pixels, const Visit& visit) {
  if (layout.block == kChannelBlock) {
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
#pragma omp simd
      for (int64_t lane = first; lane < last; ++lane) {
        visit(pixel * kChannelBlock + lane, base + pixel * kChannelBlock + lane);
      }
    }
  } else {
    for (int64_t lane = first; lane < last; ++lane) {
#pragma omp simd
      for (int64_t pixel = 0; pixel < pixels; ++pixel) {
        visit(pixel * kChannelBlock + lane, base + lane * layout.step.c + pixel);
      }
    }
  }
}

// Computes row `row` of image `n` of the output, for one segment.
void ComputeRow(const Convolution& convolution, const Pointers& tensors, int64_t n, int64_t index,
                int64_t row) {
  const ConvolutionGeometry& geometry = convolution.problem.geometry;
  const Segment& segment = convolution.segments[index];
  const ImageLayout& dst = convolution.dst;
  const int64_t width = geometry.w.output, channel = segment.block * kChannelBlock;
  const bool last = channel + segment.last == geometry.groups * geometry.out_channels;
  const int64_t end =
      last && dst.block == kChannelBlock ? kChannelBlock : segment.last;  // includes the padding
  const float *const z = tensors.z, *const filter = tensors.filter;
  float* const out = tensors.dst;
  alignas(64) float start[kChannelBlock] = {}, sums[kTile * kChannelBlock];
  if (tensors.bias != nullptr) {
    for (int64_t lane = segment.first; lane < segment.last; ++lane) {
      start[lane] = tensors.bias[channel + lane];
    }
  }
  for (int64_t column = 0; column < width; column += kTile) {
    const int64_t pixels = std::min(kTile, width - column);
    Sum(convolution, segment, row, column, pixels, start, tensors.src + n * convolution.src.step.n,
        filter + index * convolution.segment_floats, sums);
    const auto base = [&](const ImageLayout& layout) {
      return layout.Offset(n, channel, row, column);
    };
    if (z != nullptr) {
      ForEachSum(convolution.z, base(convolution.z), segment.first, segment.last, pixels,
                 [&](int64_t sum, int64_t element) { sums[sum] += z[element]; });
    }
    convolution.activation(reinterpret_cast<char*>(sums), pixels, kChannelBlock * sizeof(float),
                           kChannelBlock);
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      std::fill(sums + pixel * kChannelBlock + segment.last, sums + pixel * kChannelBlock + end,
                0.0f);
    }
    ForEachSum(dst, base(dst), segment.first, end, pixels,
               [&](int64_t sum, int64_t element) { out[element] = sums[sum]; });
  }
}

class DirectConvolution final : public Kernel {
 public:
  explicit DirectConvolution(const ConvProblem& problem) : convolution_(problem) {}

  std::string implementation() const override { return absl::StrCat("direct:", Name(isa())); }
  int64_t workspace_bytes() const override {
    return convolution_.problem.constant_filter ? 0 : PackedBytes();
  }

  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter || !convolution_.problem.constant_filter) {
      return std::nullopt;
    }
    return Packing{absl::StrCat("direct ", convolution_.problem.filter.shape.ToString(),
                                convolution_.problem.flipped() ? " flipped" : ""),
                   PackedBytes()};
  }

  absl::Status Pack(int /*input*/, const HostTensor& value, void* packed) const override {
    PackFilter(value.data<float>().data(), static_cast<float*>(packed));
    return absl::OkStatus();
  }

  absl::Status Run(const KernelArgs& args, KernelState* /*state*/) const override {
    const ConvProblem& problem = convolution_.problem;
    const auto input = [&](int i) { return static_cast<const float*>(args.inputs[i]); };
    Pointers tensors;
    tensors.src = input(ConvBiasForward::kSrc);
    tensors.filter = input(ConvBiasForward::kFilter);
    tensors.bias = problem.has_bias ? input(ConvBiasForward::kBias) : nullptr;
    tensors.z = problem.z.has_value() ? input(ConvBiasForward::kZ) : nullptr;
    tensors.dst = args.Output<float>(0);
    if (!problem.constant_filter) {
      float* const packed = static_cast<float*>(args.workspace);
      PackFilter(tensors.filter, packed);
      tensors.filter = packed;
    }
    const int64_t rows = problem.geometry.h.output;
    const int64_t segments = static_cast<int64_t>(convolution_.segments.size());
    ParallelFor(problem.threads, problem.geometry.batch * segments * rows, 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    compute_row_(convolution_, tensors, i / rows / segments, i / rows % segments,
                                 i % rows);
                  }
                });
    return absl::OkStatus();
  }

 private:
  Isa isa() const { return convolution_.problem.processor.isa; }
  int64_t PackedBytes() const {
    return static_cast<int64_t>(convolution_.segments.size() * sizeof(float)) *
           convolution_.segment_floats;
  }

  void PackFilter(const float* filter, float* packed) const {
    const int64_t count = static_cast<int64_t>(convolution_.segments.size());
    ParallelFor(convolution_.problem.threads, count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        PackSegment(convolution_, convolution_.segments[i], filter,
                    packed + i * convolution_.segment_floats);
      }
    });
  }

  const Convolution convolution_;
  const Versions<ComputeRow>::Pointer compute_row_ = Versions<ComputeRow>::For(isa());
};

}  // namespace

std::unique_ptr<Kernel> MakeDirectConvolution(const ConvProblem& problem) {
  return std::make_unique<DirectConvolution>(problem);
}

}  // namespace ashlar::cpu
