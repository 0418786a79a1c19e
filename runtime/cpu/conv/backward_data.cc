// ConvolutionBackwardData. Outputs of a row that are a stride apart use the same taps, on adjacent
// elements of the image. Kernels keep a few such outputs of a block of channels in registers, and
// add tap by tap, channel by channel. Each output is the same sum wherever a part of the image
// begins. For blocked images, convolutions are faster (backward_data_panels.h).
#include <algorithm>
#include <cstring>

#include "graph/status.h"
#include "opr/convolution_backward_data.h"
#include "runtime/cpu/conv/backward_data_panels.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

constexpr int kLanes = static_cast<int>(kChannelBlock);
constexpr int kOutputs = 6;  // in registers together

struct Problem {
  BackwardDataGeometry geometry;
  bool flip = false;
  bool alone = false;  // each block of channels is in one group
  ImageStrides from, to, z;
  int64_t from_lanes = 1, to_lanes = 1, z_lanes = 1;

  int64_t all_out_channels() const { return geometry.groups * geometry.out_channels; }
  int64_t blocks() const { return ChannelBlocks(all_out_channels()); }
  int64_t weights_of_tap() const { return geometry.in_channels * kLanes; }
  int64_t packed_floats() const {
    return blocks() * geometry.h.window * geometry.w.window * weights_of_tap();
  }
  // Returns the offset of a channel of the image.
  int64_t Channel(int64_t c) const { return c / from_lanes * from.c + c % from_lanes; }
};

// Packs to [block, tap, channel of the image, lane]. If a block has several groups, each lane has
// its own group's channels.
void PackFilter(const Problem& p, const float* filter, float* packed) {
  const BackwardDataGeometry& g = p.geometry;
  const int64_t taps = g.h.window * g.w.window;
  for (int64_t block = 0; block < p.blocks(); ++block) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t from = p.flip ? taps - 1 - tap : tap;
      for (int64_t c = 0; c < g.in_channels; ++c) {
        for (int64_t l = 0; l < kLanes; ++l) {
          const int64_t oc = block * kLanes + l, group = oc / g.out_channels;
          const int64_t row = (group * g.in_channels + c) * g.out_channels + oc % g.out_channels;
          *packed++ = oc < p.all_out_channels() ? filter[row * taps + from] : 0.0f;
        }
      }
    }
  }
}

using Vector = float __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

// Computes sums[j] += x[j * step] * weights, over the channels of a tap.
template <int kCount>
[[gnu::always_inline]] inline void AddTap(const Problem& p, const float* x, int64_t step,
                                          const float* weights, Vector* sums) {
  Vector registers[kCount];
  for (int j = 0; j < kCount; ++j) registers[j] = sums[j];
  const int64_t channels = p.geometry.in_channels;
  for (int64_t begin = 0; begin < channels; begin += p.from_lanes) {
    const int64_t end = std::min(begin + p.from_lanes, channels);
    for (int64_t c = begin; c < end; ++c, weights += kLanes) {
      const float* const at = x + c - begin;
      const Vector w = *reinterpret_cast<const Vector*>(weights);
#pragma GCC unroll 8
      for (int j = 0; j < kCount; ++j) registers[j] += at[j * step] * w;
    }
    x += p.from.c;
  }
  for (int j = 0; j < kCount; ++j) sums[j] = registers[j];
}

// Adds z (a row of a block of channels, or null) to the sums of a pixel.
[[gnu::always_inline]] inline void AddZ(const Problem& p, const float* z, int64_t column,
                                        int64_t channels, float* sums) {
  if (z == nullptr) return;
  const int64_t step = p.z_lanes == kLanes ? 1 : p.z.c;
  for (int64_t l = 0; l < channels; ++l) sums[l] += z[column * p.z.w + l * step];
}

// Computes `count` outputs first, first + stride, ... of a row into `sums`.
void SumOutputs(const Problem& p, const float* image, const float* packed, int64_t oh,
                int64_t first, int64_t count, Vector* sums) {
  const WindowAxis &h = p.geometry.h, &w = p.geometry.w;
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t from_y = oh + h.pad_begin - kh * h.dilation;
    if (from_y < 0 || from_y % h.stride != 0 || from_y / h.stride >= h.output) continue;
    const float* const row = image + from_y / h.stride * p.from.h;
    for (int64_t kw = 0; kw < w.window; ++kw) {
      const int64_t from_x = first + w.pad_begin - kw * w.dilation;
      if (((from_x % w.stride) + w.stride) % w.stride != 0) continue;
      const int64_t x = FloorDivide(from_x, w.stride);
      const float* const weights = packed + (kh * w.window + kw) * p.weights_of_tap();
      if (count == kOutputs && x >= 0 && x + kOutputs <= w.output) {
        AddTap<kOutputs>(p, row + x * p.from.w, p.from.w, weights, sums);
        continue;
      }
      for (int64_t j = 0; j < count; ++j) {
        if (x + j < 0 || x + j >= w.output) continue;
        AddTap<1>(p, row + (x + j) * p.from.w, 0, weights, sums + j);
      }
    }
  }
}

// Computes one row of a block of output channels. `z` is the same row of z, or null.
void SpreadRow(const Problem& p, const float* image, const float* packed, int64_t oh,
               int64_t channels, const float* z, float* to) {
  const WindowAxis& w = p.geometry.w;
  for (int64_t phase = 0; phase < std::min(w.stride, w.input); ++phase) {
    const int64_t outputs = (w.input - phase + w.stride - 1) / w.stride;
    for (int64_t o = 0; o < outputs; o += kOutputs) {
      Vector sums[kOutputs] = {};
      const int64_t first = phase + o * w.stride, count = std::min<int64_t>(kOutputs, outputs - o);
      SumOutputs(p, image, packed, oh, first, count, sums);
      for (int64_t j = 0; j < count; ++j) {
        auto* const values = reinterpret_cast<float*>(&sums[j]);
        const int64_t column = first + j * w.stride;
        float* const pixel = to + column * p.to.w;
        AddZ(p, z, column, channels, values);
        if (p.to_lanes == kLanes) {
          std::memcpy(pixel, values, sizeof(Vector));
        } else {
          for (int64_t l = 0; l < channels; ++l) pixel[l * p.to.c] = values[l];
        }
      }
    }
  }
}

// The same if the lanes of a block belong to several groups.
void SpreadRowOfGroups(const Problem& p, const float* image, const float* packed, int64_t oh,
                       int64_t first_channel, int64_t channels, const float* z, float* to) {
  const BackwardDataGeometry& g = p.geometry;
  const WindowAxis &h = g.h, &w = g.w;
  for (int64_t ow = 0; ow < w.input; ++ow) {
    float sums[kLanes] = {};
    for (int64_t kh = 0; kh < h.window; ++kh) {
      const int64_t y = oh + h.pad_begin - kh * h.dilation;
      if (y < 0 || y % h.stride != 0 || y / h.stride >= h.output) continue;
      for (int64_t kw = 0; kw < w.window; ++kw) {
        const int64_t x = ow + w.pad_begin - kw * w.dilation;
        if (x < 0 || x % w.stride != 0 || x / w.stride >= w.output) continue;
        const float* const pixel = image + y / h.stride * p.from.h + x / w.stride * p.from.w;
        const float* weights = packed + (kh * w.window + kw) * p.weights_of_tap();
        for (int64_t c = 0; c < g.in_channels; ++c, weights += kLanes) {
          for (int64_t l = 0; l < channels; ++l) {
            const int64_t group = (first_channel + l) / g.out_channels;
            sums[l] += pixel[p.Channel(group * g.in_channels + c)] * weights[l];
          }
        }
      }
    }
    AddZ(p, z, ow, channels, sums);
    for (int64_t l = 0; l < (p.to_lanes == kLanes ? kLanes : channels); ++l) {
      to[ow * p.to.w + (p.to_lanes == kLanes ? l : l * p.to.c)] = sums[l];
    }
  }
}

class BackwardDataKernel final : public Kernel {
 public:
  BackwardDataKernel(const Problem& problem, const KernelRequest& request)
      : problem_(problem),
        constant_(request.constant[ConvolutionBackwardData::kFilter]),
        has_z_(request.inputs.size() > ConvolutionBackwardData::kZ),
        isa_(request.processor.isa),
        threads_(request.threads),
        spread_(Versions<SpreadRow>::For(isa_)),
        spread_groups_(NarrowVersions<SpreadRowOfGroups>::For(isa_)) {}

  std::string implementation() const override { return absl::StrCat("deconv:", Name(isa_)); }
  int64_t workspace_bytes() const override { return constant_ ? 0 : packed_bytes(); }
  std::optional<Packing> packing(int input) const override {
    if (!constant_ || input != ConvolutionBackwardData::kFilter) return std::nullopt;
    const BackwardDataGeometry& g = problem_.geometry;
    return Packing{absl::StrCat("deconv:", g.groups, "x", g.in_channels, "x", g.out_channels, "x",
                                g.h.window, "x", g.w.window, problem_.flip ? ":flipped" : ""),
                   packed_bytes()};
  }
  absl::Status Pack(int /*input*/, const HostTensor& value, void* packed) const override {
    PackFilter(problem_, value.data<float>().data(), static_cast<float*>(packed));
    return absl::OkStatus();
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    const Problem& p = problem_;
    const BackwardDataGeometry& g = p.geometry;
    const float* packed = args.Input<float>(ConvolutionBackwardData::kFilter);
    if (!constant_) {
      PackFilter(p, packed, static_cast<float*>(args.workspace));
      packed = static_cast<const float*>(args.workspace);
    }
    const int64_t rows = g.h.input, blocks = p.blocks();
    ParallelFor(threads_, g.batch * blocks * rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / rows / blocks, block = i / rows % blocks, oh = i % rows;
        const int64_t first = block * kLanes;
        const int64_t channels = std::min<int64_t>(kLanes, p.all_out_channels() - first);
        const float* const image = args.Input<float>(ConvolutionBackwardData::kSrc) + n * p.from.n;
        const float* const weights = packed + block * g.h.window * g.w.window * p.weights_of_tap();
        float* const to = args.Output<float>(0) + n * p.to.n + oh * p.to.h +
                          (p.to_lanes == kLanes ? block : first) * p.to.c;
        const float* const z = has_z_
                                   ? args.Input<float>(ConvolutionBackwardData::kZ) + n * p.z.n +
                                         oh * p.z.h + (p.z_lanes == kLanes ? block : first) * p.z.c
                                   : nullptr;
        if (p.alone) {
          spread_(p, image + p.Channel(first / g.out_channels * g.in_channels), weights, oh,
                  channels, z, to);
        } else {
          spread_groups_(p, image, weights, oh, first, channels, z, to);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t packed_bytes() const {
    return problem_.packed_floats() * static_cast<int64_t>(sizeof(float));
  }

  const Problem problem_;
  const bool constant_, has_z_;
  const Isa isa_;
  const int threads_;
  void (*const spread_)(const Problem&, const float*, const float*, int64_t, int64_t, const float*,
                        float*);
  void (*const spread_groups_)(const Problem&, const float*, const float*, int64_t, int64_t,
                               int64_t, const float*, float*);
};

absl::StatusOr<KernelList> MakeBackwardData(const ConvolutionBackwardData& op,
                                            const KernelRequest& request) {
  const TensorType &src = request.inputs[0], &dst = request.outputs[0];
  Problem p;
  ASHLAR_ASSIGN_OR_RETURN(p.geometry, InferBackwardData(op.param(), src, request.inputs[1]));
  p.flip = op.param().mode == ConvolutionMode::kConvolution;
  p.from = StridesOf(src);
  p.to = StridesOf(dst);
  p.from_lanes = IsBlocked(src.format) ? kChannelBlock : 1;
  p.to_lanes = IsBlocked(dst.format) ? kChannelBlock : 1;
  if (request.inputs.size() > ConvolutionBackwardData::kZ) {
    const TensorType& z = request.inputs[ConvolutionBackwardData::kZ];
    p.z = StridesOf(z);
    p.z_lanes = IsBlocked(z.format) ? kChannelBlock : 1;
  }
  // A tap walks a group's channels block by block, so they must start at a block.
  const bool whole_blocks = p.geometry.out_channels % kChannelBlock == 0 &&
                            (p.from_lanes == 1 || p.geometry.in_channels % kChannelBlock == 0);
  p.alone = p.geometry.groups == 1 || whole_blocks;
  KernelList kernels;
  for (const FilterPacking packing : {FilterPacking::kWhole, FilterPacking::kChunks}) {
    if (packing == FilterPacking::kChunks &&
        (request.constant[1] || PackedWhole(request.inputs[1].bytes(), request.processor))) {
      break;
    }
    std::unique_ptr<Kernel> panels = MakePanelBackwardData(op, p.geometry, request, packing);
    if (panels == nullptr) break;
    kernels.push_back(std::move(panels));
  }
  if (kernels.empty()) kernels.push_back(std::make_unique<BackwardDataKernel>(p, request));
  return kernels;
}

}  // namespace

void RegisterConvolutionBackwardDataKernels(KernelRegistry& registry) {
  registry.Register<ConvolutionBackwardData>(MakeBackwardData, {DType::kFloat32});
}

}  // namespace ashlar::cpu
