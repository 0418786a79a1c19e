#include "runtime/cpu/conv/backward_data_panels.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "graph/region.h"
#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/panel.h"
#include "runtime/cpu/conv/panel_plan.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

using Op = ConvolutionBackwardData;

constexpr int64_t kMostRemainders = 64;

// The outputs along an axis whose positions, counted from the first element that windows reach,
// have one remainder modulo the stride.
struct Remainder {
  int64_t first = 0, count = 0;   // outputs first, first + stride, ...
  int64_t tap = 0, tap_step = 0;  // of the filter: the window's first tap, the step between taps
  WindowAxis axis;  // the convolution that computes them; a window of 0 if no tap meets them
};

Remainder RemainderOf(const WindowAxis& back, int64_t remainder) {
  const int64_t common = std::gcd(back.stride, back.dilation), period = back.stride / common;
  Remainder r;
  r.first = remainder - back.pad_begin;
  r.first -= FloorDivide(r.first, back.stride) * back.stride;
  r.count = std::max<int64_t>(0, CeilDivide(back.input - r.first, back.stride));
  const int64_t end = std::min(back.window, period);  // remainders repeat after this
  int64_t tap = 0;
  while (tap < end && (remainder - tap * back.dilation) % back.stride != 0) ++tap;
  r.axis = {.input = back.output,
            .window = tap < end ? (back.window - 1 - tap) / period + 1 : 0,
            .dilation = back.dilation / common};
  // Output i reads element i + shift with the first of these taps, and earlier elements with the
  // others: the window runs through the taps backwards.
  const int64_t shift = (r.first + back.pad_begin - tap * back.dilation) / back.stride;
  r.tap = tap + (r.axis.window - 1) * period;
  r.tap_step = -period;
  r.axis.pad_begin = (r.axis.window - 1) * r.axis.dilation - shift;
  r.axis.output = std::max<int64_t>(1, r.count);
  r.axis.pad_end = r.axis.Origin(r.axis.output - 1) + r.axis.extent() - r.axis.input;
  return r;
}

// The outputs that belong to one remainder of each axis.
struct Part {
  std::unique_ptr<PanelKernel> kernel;  // null: writes zeros, or z alone
  int64_t rows = 0, columns = 0;        // of outputs; none: only packs
  int64_t packed = 0;                   // byte offset of its weights
  int64_t dst = 0, z = 0;               // byte offsets of its outputs, and of its part of z
};

class PanelBackwardData final : public Kernel {
 public:
  PanelBackwardData(std::vector<Part> parts, std::string key, const ImageStrides& step,
                    const ImageStrides& z_step, const KernelRequest& request, double relative_time)
      : parts_(std::move(parts)),
        key_(std::move(key)),
        dst_(request.outputs[0]),
        step_(step),
        z_step_(z_step),
        has_z_(request.inputs.size() > Op::kZ),
        constant_(request.constant[Op::kFilter]),
        threads_(request.threads),
        relative_time_(relative_time),
        name_(absl::StrCat("deconv panels:", Name(request.processor.isa), "/", parts_.size(),
                           relative_time > 1 ? " by chunks" : "")) {}

  std::string implementation() const override { return name_; }
  // The parts run one after the other and share it.
  int64_t workspace_bytes() const override {
    int64_t most = 0;
    for (const Part& part : parts_) {
      if (part.kernel != nullptr) most = std::max(most, part.kernel->workspace_bytes());
    }
    return most;
  }
  double relative_time() const override { return relative_time_; }
  std::optional<Packing> packing(int input) const override {
    if (input != Op::kFilter || !constant_) return std::nullopt;
    return Packing{key_, packed_bytes()};
  }
  absl::Status Pack(int /*input*/, const HostTensor& value, void* packed) const override {
    PackFilter(value.data<float>().data(), static_cast<char*>(packed));
    return absl::OkStatus();
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    const char* const weights = args.Input<char>(Op::kFilter);
    for (const Part& part : parts_) {
      if (part.rows * part.columns == 0) continue;
      char* const dst = args.Output<char>(0) + part.dst;
      const char* const z = has_z_ ? args.Input<char>(Op::kZ) + part.z : nullptr;
      if (part.kernel == nullptr) {
        CopyPart(part, z, dst);
      } else {
        const ConvTensors tensors = {.src = args.Input<char>(Op::kSrc),
                                     .weights = weights + (constant_ ? part.packed : 0),
                                     .z = z,
                                     .bias = nullptr,
                                     .dst = dst};
        constant_ ? part.kernel->RunPacked(tensors)
                  : part.kernel->RunFilter(tensors, args.workspace);
      }
    }
    return absl::OkStatus();
  }

 private:
  int64_t packed_bytes() const {
    const Part& last = parts_.back();
    return last.packed + (last.kernel == nullptr ? 0 : last.kernel->packed_bytes());
  }
  void PackFilter(const float* filter, char* packed) const {
    for (const Part& part : parts_) {
      if (part.kernel != nullptr) part.kernel->PackFilter(filter, packed + part.packed);
    }
  }
  // Copies z, or writes zeros.
  void CopyPart(const Part& part, const char* z, char* dst) const {
    if (z == dst) return;
    const int64_t blocks = ChannelBlocks(dst_.shape[1]);
    const int64_t grain = std::max<int64_t>(1, kElementsPerThread / (part.columns * kChannelBlock));
    const auto copy = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t y = i % part.rows, block = i / part.rows % blocks, n = i / part.rows / blocks;
        char* pixel = dst + n * step_.n + block * step_.c + y * step_.h;
        const char* from =
            z == nullptr ? kZeros : z + n * z_step_.n + block * z_step_.c + y * z_step_.h;
        for (int64_t x = 0; x < part.columns; ++x, pixel += step_.w) {
          std::memcpy(pixel, from, sizeof(kZeros));
          if (z != nullptr) from += z_step_.w;
        }
      }
    };
    ParallelFor(threads_, dst_.shape[0] * blocks * part.rows, grain, copy);
  }

  static constexpr char kZeros[kChannelBlock * sizeof(float)] = {};

  const std::vector<Part> parts_;
  const std::string key_;
  const TensorType dst_;
  const ImageStrides step_, z_step_;  // between outputs of a part, in bytes
  const bool has_z_, constant_;
  const int threads_;
  const double relative_time_;
  const std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> MakePanelBackwardData(const ConvolutionBackwardData& op,
                                              const BackwardDataGeometry& g,
                                              const KernelRequest& request,
                                              FilterPacking filter_packing) {
  ConvProblem problem;
  problem.src = request.inputs[Op::kSrc];
  problem.filter = request.inputs[Op::kFilter];
  problem.dst = request.outputs[0];
  problem.processor = request.processor;
  problem.threads = request.threads;
  problem.constant_filter = request.constant[Op::kFilter];
  problem.geometry = g;
  if (request.inputs.size() > Op::kZ) problem.z = request.inputs[Op::kZ];
  if (!PanelConvolutionFits(problem) || g.h.stride > kMostRemainders ||
      g.w.stride > kMostRemainders || g.h.stride * g.w.stride > kMostRemainders) {
    return nullptr;
  }
  ConvStrides strides(problem);
  const ImageStrides dst = InBytes(strides.dst), z = InBytes(strides.z);
  strides.dst.h *= g.h.stride;
  strides.dst.w *= g.w.stride;
  strides.z.h *= g.h.stride;
  strides.z.w *= g.w.stride;
  const bool by_chunks = filter_packing == FilterPacking::kChunks;
  const bool flip = op.param().mode == ConvolutionMode::kConvolution;
  const int64_t taps = g.h.window * g.w.window, sign = flip ? -1 : 1;
  std::vector<Part> parts;
  int64_t packed = 0;
  for (int64_t i = 0; i < g.h.stride * g.w.stride; ++i) {
    const Remainder h = RemainderOf(g.h, i / g.w.stride), w = RemainderOf(g.w, i % g.w.stride);
    Part part{nullptr,
              h.count,
              w.count,
              packed,
              h.first * dst.h + w.first * dst.w,
              h.first * z.h + w.first * z.w};
    if (h.axis.window * w.axis.window > 0) {
      const int64_t tap = h.tap * g.w.window + w.tap;
      problem.geometry.h = h.axis;
      problem.geometry.w = w.axis;
      problem.weights = {.first = flip ? taps - 1 - tap : tap,
                         .group = g.in_channels * g.out_channels * taps,
                         .out = taps,
                         .in = g.out_channels * taps,
                         .row = sign * h.tap_step * g.w.window,
                         .column = sign * w.tap_step};
      part.kernel = MakePanelConvolution(problem, strides, 1.0,
                                         filter_packing == FilterPacking::kChunks
                                             ? kWholeInput
                                             : PanelInputBytes(problem.processor),
                                         filter_packing);
      packed += part.kernel->packed_bytes();
    }
    parts.push_back(std::move(part));
  }
  const std::string key =
      absl::StrCat("deconv panels ", Name(request.processor.isa),
                   IsBlocked(problem.src.format) ? " " : " planar ",
                   problem.filter.shape.ToString(), " strides ", g.h.stride, " ", g.w.stride,
                   " dilations ", g.h.dilation, " ", g.w.dilation, flip ? " flipped" : "");
  return std::make_unique<PanelBackwardData>(std::move(parts), key, InBytes(strides.dst),
                                             InBytes(strides.z), request,
                                             by_chunks ? ChunksTime(g) : 1.0);
}

}  // namespace ashlar::cpu
