// The kernels of BFloat16 convolutions and matrix products: positions (positions.h) whose channels
// are summed in pairs, in AMX's tiles by TDPBF16PS, or in vectors by VDPBF16PS.

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/amx/positions.h"
#include "runtime/cpu/amx_kernels.h"
#include "runtime/cpu/conv/activation.h"
#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/tensors.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/host_processor.h"

namespace ashlar::cpu {
namespace {

// A matrix is copied with zeros after its rows if they would be cut into so many more steps.
constexpr double kMuchExcess = 0.25;

bool HasTiles(const Processor& processor) { return processor.amx_bf16; }

// Whether there are tiles that the system does not refuse, or dot products that are faster than
// Float32's. On processors with tiles they are not.
bool IsAvailable(const Processor& processor) {
  if (!HasTiles(processor)) return processor.bf16;
  return !HostProcessor().amx_bf16 || RequestAmx().ok();
}

void Activate(const BlockActivation& activation, char* panel, int channels) {
  activation(panel, 1, kPanel * static_cast<int64_t>(sizeof(float)), channels);
}

// The kernels of both operators.
class Products : public Kernel {
 public:
  std::string implementation() const override {
    return has_tiles_ ? "bf16:amx_bf16" : "bf16:avx512_bf16";
  }
  int64_t workspace_bytes() const override { return positions_.workspace_bytes(); }
  double relative_time() const override { return relative_time_; }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override;
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    if (absl::Status status = code_.request(); !status.ok()) return status;
    return std::unique_ptr<KernelState>();
  }

 protected:
  Products(AmxProblem problem, const Processor& processor, const FilterView& weights,
           double relative_time)
      : has_tiles_(HasTiles(processor)),
        problem_(WithRows(problem, has_tiles_)),
        code_(has_tiles_ ? AmxCodeHere() : DotCodeHere()),
        positions_(problem_, processor),
        weights_(weights),
        relative_time_(relative_time) {}

  static AmxProblem ProblemOf(const ConvolutionGeometry& geometry, int64_t most_copied,
                              int threads) {
    return {.geometry = geometry,
            .channel_bytes = kHalfBytes,
            .copies = true,
            .overlaps = false,
            .outside = 0,
            .header = 0,
            .most_copied = most_copied,
            .threads = threads};
  }
  Packing PackingOf(absl::string_view more) const {
    return {absl::StrCat("BFloat16 amx ", kAmxBlockChannels, "x", positions_.shape().depth,
                         positions_.merges() ? " rows of " : " taps of ", positions_.pixel_bytes(),
                         more),
            positions_.weight_bytes()};
  }

  static AmxProblem WithRows(AmxProblem problem, bool has_tiles) {
    problem.most_rows = has_tiles ? kAmxRows : kDotRows;
    return problem;
  }

  const bool has_tiles_;
  const AmxProblem problem_;
  const AmxCode& code_;
  const AmxPositions positions_;

 private:
  const FilterView weights_;
  const double relative_time_;
};

absl::Status Products::Pack(int, const HostTensor& value, void* packed) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const uint16_t* const from = value.data<uint16_t>().data() + weights_.first;
  std::memset(packed, 0, static_cast<size_t>(positions_.weight_bytes()));
  for (int64_t channel = 0; channel < g.out_channels; ++channel) {
    for (int64_t tap = 0; tap < g.h.window * g.w.window; ++tap) {
      const uint16_t* const weights = from + channel * weights_.out +
                                      tap / g.w.window * weights_.row +
                                      tap % g.w.window * weights_.column;
      for (int64_t c = 0; c < g.in_channels; ++c) {
        std::memcpy(static_cast<char*>(packed) + positions_.WeightOffset(channel, tap, c),
                    weights + c * weights_.in, kHalfBytes);
      }
    }
  }
  return absl::OkStatus();
}

// Images are blocked; a row-major input, too, is copied to adjacent channels. Without tiles, 1x1
// windows read whole blocked images in place.
class NarrowConvolution final : public Products {
 public:
  NarrowConvolution(const ConvProblem& problem, int64_t most_copied, double relative_time)
      : Products(ProblemOf(problem, most_copied), problem.processor, problem.weights,
                 relative_time),
        blocked_(IsBlocked(problem.src.format)),
        flipped_(problem.flipped()),
        has_bias_(problem.has_bias),
        has_z_(problem.z.has_value()),
        finish_(FinishOf(problem.param)),
        behind_finish_(BlockActivation::BehindFinish(problem.param, code_.isa)),
        filter_shape_(problem.filter.shape) {
    const ConvStrides strides(problem);
    src_ = InBytes(strides.src, kHalfBytes);
    dst_ = InBytes(strides.dst, kHalfBytes);
    z_ = InBytes(strides.z, kHalfBytes);
  }

  static bool Fits(const ConvProblem& problem) {
    return problem.src.dtype == DType::kBFloat16 && problem.dst.dtype == DType::kBFloat16 &&
           problem.geometry.groups == 1 && problem.constant_filter &&
           problem.filter.format == Format::kDefault && IsBlocked(problem.dst.format) &&
           (!problem.z || IsBlocked(problem.z->format));
  }

  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    return PackingOf(absl::StrCat(" ", filter_shape_.ToString(), flipped_ ? " flipped" : ""));
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override;

 private:
  using Products::ProblemOf;
  static AmxProblem ProblemOf(const ConvProblem& problem, int64_t most_copied) {
    const ConvolutionGeometry& g = problem.geometry;
    AmxProblem result = ProblemOf(g, most_copied, problem.threads);
    const ImageStrides src = InBytes(ConvStrides(problem).src, kHalfBytes);
    const auto is_point = [](const WindowAxis& axis) {
      return axis.window == 1 && axis.stride == 1 && axis.input == axis.output;
    };
    if (!HasTiles(problem.processor) && IsBlocked(problem.src.format) && is_point(g.h) &&
        is_point(g.w) && src.w == kChannelBlock * kHalfBytes && src.h == g.w.input * src.w) {
      result.copies = false;
      result.block_step = src.c, result.image_step = src.n;
    }
    return result;
  }

  void CopyPixels(const char* from, int64_t count, char* to) const;

  const bool blocked_, flipped_, has_bias_, has_z_;
  ImageStrides src_, dst_, z_;  // in bytes
  const ConvFinish finish_;
  const BlockActivation behind_finish_;
  const Shape filter_shape_;
};

// Copies a row of adjacent pixels of three planes, `plane` bytes apart, with a zero after each.
void CopyColours(const char* from, int64_t plane, int64_t count, char* to) {
  for (int64_t x = 0; x < count; ++x) {
    uint16_t colours[3];
    for (int c = 0; c < 3; ++c)
      std::memcpy(&colours[c], from + c * plane + x * kHalfBytes, kHalfBytes);
    const uint64_t pixel = colours[0] | uint64_t{colours[1]} << 16 | uint64_t{colours[2]} << 32;
    std::memcpy(to + x * int64_t{sizeof(pixel)}, &pixel, sizeof(pixel));
  }
}

// Copies adjacent pixels of a row. The padding of the last block is zero.
void NarrowConvolution::CopyPixels(const char* from, int64_t count, char* to) const {
  constexpr int64_t kBlockBytes = kChannelBlock * kHalfBytes;
  const int64_t channels = problem_.geometry.in_channels, bytes = positions_.pixel_bytes();
  const int64_t used = blocked_ ? std::min(RoundUp(channels * kHalfBytes, kBlockBytes), bytes)
                                : channels * kHalfBytes;
  if (!blocked_ && channels == 3 && bytes == 4 * kHalfBytes && src_.w == kHalfBytes) {
    return CopyColours(from, src_.c, count, to);
  }
  const int64_t whole = used / kBlockBytes, rest = used % kBlockBytes;
  for (int64_t x = 0; x < count; ++x, from += src_.w, to += bytes) {
    if (blocked_) {
      for (int64_t block = 0; block < whole; ++block) {
        std::memcpy(to + block * kBlockBytes, from + block * src_.c, kBlockBytes);
      }
      std::memcpy(to + whole * kBlockBytes, from + whole * src_.c, static_cast<size_t>(rest));
    } else {
      for (int64_t c = 0; c < channels; ++c)
        std::memcpy(to + c * kHalfBytes, from + c * src_.c, kHalfBytes);
    }
    std::memset(to + used, 0, static_cast<size_t>(bytes - used));
  }
}

absl::Status NarrowConvolution::Run(const KernelArgs& args, KernelState*) const {
  const ConvTensors tensors = ConvTensorsOf(args, has_bias_, has_z_);
  const WidenFunction widen = WidenFor(DType::kBFloat16, code_.isa);
  const auto copy = [&](int64_t image, int64_t y, int64_t x, int64_t count, uint8_t* to) {
    CopyPixels(tensors.src + image * src_.n + y * src_.h + x * src_.w, count,
               reinterpret_cast<char*>(to));
  };
  const auto of_pixel = [&](int64_t image, int64_t row, int64_t column, uint8_t*& dst,
                            const uint8_t*& z) {
    dst = reinterpret_cast<uint8_t*>(tensors.dst + image * dst_.n + row * dst_.h + column * dst_.w);
    if (!has_z_) return;
    z = reinterpret_cast<const uint8_t*>(tensors.z + image * z_.n + row * z_.h + column * z_.w);
  };
  const auto complete = [&](AmxCall<AmxFloats>& call, const char*, int32_t* start) {
    if (has_bias_) {
      CopyBias(tensors.bias, widen, call.channel, call.channels, reinterpret_cast<float*>(start));
    }
    call.results = {.adds = has_z_,
                    .padded = true,
                    .panel_step = dst_.c,
                    .z_panel_step = z_.c,
                    .finish = finish_,
                    .behind = behind_finish_ ? Activate : nullptr,
                    .activation = &behind_finish_};
  };
  positions_.Run<AmxFloats>(code_, false,
                            {.src = reinterpret_cast<const uint8_t*>(tensors.src),
                             .workspace = args.workspace,
                             .of_pixel = of_pixel,
                             .weights = tensors.weights},
                            copy, complete);
  return absl::OkStatus();
}

// Rows of A are positions, and its columns their channels.
class MatrixProduct final : public Products {
 public:
  MatrixProduct(const MatrixMulParam& param, const MatrixMulGeometry& matrices,
                const KernelRequest& request)
      : Products(ProblemOf(matrices, request), request.processor,
                 param.transposeB ? FilterView{.out = matrices.k, .in = 1}
                                  : FilterView{.out = 1, .in = matrices.n},
                 /*relative_time=*/1),
        transposed_b_(param.transposeB) {}

  std::optional<Packing> packing(int input) const override {
    if (input != kB) return std::nullopt;
    return PackingOf(transposed_b_ ? " transposed" : "");
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override;

 private:
  static constexpr int kA = 0, kB = 1;

  static AmxProblem ProblemOf(const MatrixMulGeometry& matrices, const KernelRequest& request) {
    ConvolutionGeometry geometry;
    geometry.batch = geometry.groups = 1;
    geometry.in_channels = matrices.k;
    geometry.out_channels = matrices.n;
    geometry.h.input = geometry.h.output = matrices.batch.num_elements() * matrices.m;
    geometry.w.input = geometry.w.output = 1;
    AmxProblem problem = Products::ProblemOf(geometry, kAmxCopies[0], request.threads);
    problem.copies =
        matrices.k * kHalfBytes % kDepth != 0 || AmxPositions::Excess(problem) > kMuchExcess;
    return problem;
  }

  const bool transposed_b_;
};

absl::Status MatrixProduct::Run(const KernelArgs& args, KernelState*) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const auto* const a = args.Input<uint8_t>(kA);
  auto* const c = args.Output<uint8_t>(0);
  const int64_t row_bytes = g.in_channels * kHalfBytes, out_bytes = g.out_channels * kHalfBytes;
  const int64_t padding = positions_.pixel_bytes() - row_bytes;
  const auto copy = [&](int64_t, int64_t y, int64_t, int64_t, uint8_t* to) {
    std::memcpy(to, a + y * row_bytes, static_cast<size_t>(row_bytes));
    std::memset(to + row_bytes, 0, static_cast<size_t>(padding));
  };
  const auto of_pixel = [&](int64_t, int64_t row, int64_t column, uint8_t*& dst, const uint8_t*&) {
    // Without a copy, positions run along a single row.
    dst = c + (problem_.copies ? row : column) * out_bytes;
  };
  const auto complete = [&](AmxCall<AmxFloats>& call, const char*, int32_t*) {
    call.results = {.adds = false,
                    .padded = false,
                    .panel_step = kPanel * kHalfBytes,
                    .z_panel_step = 0,
                    .finish = {},
                    .behind = nullptr,
                    .activation = nullptr};
  };
  positions_.Run<AmxFloats>(code_, false,
                            {.src = a,
                             .workspace = args.workspace,
                             .of_pixel = of_pixel,
                             .weights = args.Input<char>(kB)},
                            copy, complete);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Kernel> AmxBFloat16Convolution(const ConvProblem& problem, int64_t most_copied,
                                               double relative_time) {
  if (!NarrowConvolution::Fits(problem) || !IsAvailable(problem.processor)) return nullptr;
  return std::make_unique<NarrowConvolution>(problem, most_copied, relative_time);
}

std::unique_ptr<Kernel> AmxBFloat16MatrixMul(const MatrixMulParam& param,
                                             const KernelRequest& request) {
  const TensorType &a = request.inputs[0], &b = request.inputs[1];
  if (!request.constant[1] || a.dtype != DType::kBFloat16 || b.dtype != a.dtype ||
      request.outputs[0].dtype != a.dtype || param.transposeA || !IsAvailable(request.processor)) {
    return nullptr;
  }
  const absl::StatusOr<MatrixMulGeometry> matrices = InferMatrixMul(param, a, b);
  // There is one matrix B for all products.
  if (!matrices.ok() || matrices->k == 0 || request.outputs[0].shape.num_elements() == 0 ||
      b.shape.num_elements() != matrices->k * matrices->n) {
    return nullptr;
  }
  return std::make_unique<MatrixProduct>(param, *matrices, request);
}

}  // namespace ashlar::cpu
