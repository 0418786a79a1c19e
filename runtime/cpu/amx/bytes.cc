// The kernel of 8-bit convolutions in AMX's tiles. Weights are packed after their sums
// (amx/positions.h).
//
// Pixels are adjacent: tensors have one group of channels, which come last. (Images of one pixel
// may be row-major, too: their strides of rows and columns then say nothing.)
#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/amx/positions.h"
#include "runtime/cpu/amx_kernels.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/quantized/conv_problem.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kMostCopied = 768 * 1024;
constexpr int64_t kSumBytes = kAmxBlockChannels * sizeof(int32_t);

class AmxKernel final : public Kernel {
 public:
  AmxKernel(QuantizedConvProblem problem, const Processor& processor)
      : problem_(std::move(problem)),
        code_(AmxCodeHere()),
        positions_(ProblemOf(problem_), processor),
        factors_(problem_.to.factors) {
    factors_.resize(
        static_cast<size_t>(RoundUp(problem_.geometry.out_channels, kAmxBlockChannels)));
  }

  static bool Fits(const QuantizedConvProblem& problem) {
    return problem.geometry.groups == 1 && !problem.joins() && problem.dst.c == 1 &&
           (!problem.sum || problem.z.c == 1);
  }

  std::string implementation() const override { return "int8:amx_int8"; }
  int64_t workspace_bytes() const override { return positions_.workspace_bytes(); }
  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    return Packing{
        absl::StrCat("int8 amx ", kAmxBlockChannels, "x", positions_.shape().depth,
                     positions_.merges() ? " rows" : " taps", problem_.flipped ? " flipped" : ""),
        positions_.weight_bytes()};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override;
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    if (absl::Status status = code_.request(); !status.ok()) return status;
    return std::unique_ptr<KernelState>();
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override;

 private:
  static AmxProblem ProblemOf(const QuantizedConvProblem& problem) {
    return {.geometry = problem.geometry,
            .channel_bytes = 1,
            .copies = Copies(problem),
            .overlaps = true,
            .outside = static_cast<uint8_t>(problem.to.source_zero_point),
            .header = kSumBytes,
            .most_copied = kMostCopied,
            .threads = problem.threads};
  }
  static bool Copies(const QuantizedConvProblem& problem) {
    const auto moves = [](const WindowAxis& axis) {
      return axis.window != 1 || axis.stride != 1 || axis.padded() || axis.output != axis.input;
    };
    const ConvolutionGeometry& g = problem.geometry;
    return moves(g.h) || moves(g.w) || problem.src.c != 1 || g.in_channels % kDepth != 0;
  }

  void CopyPixels(const uint8_t* from, int64_t count, uint8_t* to) const;

  const QuantizedConvProblem problem_;
  const AmxCode& code_;
  const AmxPositions positions_;
  std::vector<float> factors_;
};

absl::Status AmxKernel::Pack(int, const HostTensor& value, void* packed) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const int8_t* const filter = value.data<int8_t>().data();
  auto* const to = static_cast<int8_t*>(packed);
  const int64_t taps = problem_.taps();
  std::memset(packed, 0, static_cast<size_t>(positions_.weight_bytes()));
  for (int64_t channel = 0; channel < g.out_channels; ++channel) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < g.in_channels; ++c) {
        const int8_t weight =
            filter[(channel * g.in_channels + c) * taps + problem_.FilterTap(tap)];
        sum += weight;
        to[positions_.WeightOffset(channel, tap, c)] = weight;
      }
    }
    std::memcpy(to + positions_.BlockOffset(channel / kAmxBlockChannels) +
                    channel % kAmxBlockChannels * static_cast<int64_t>(sizeof(sum)),
                &sum, sizeof(sum));
  }
  return absl::OkStatus();
}

// Copies adjacent pixels of a row.
void AmxKernel::CopyPixels(const uint8_t* from, int64_t count, uint8_t* to) const {
  const int64_t channels = problem_.geometry.in_channels, bytes = positions_.pixel_bytes();
  if (problem_.src.c == 1 && channels == bytes) {
    std::memcpy(to, from, static_cast<size_t>(count * bytes));
    return;
  }
  for (int64_t x = 0; x < count; ++x, to += bytes) {
    const uint8_t* const pixel = from + x * problem_.src.w;
    for (int64_t c = 0; c < channels; ++c) to[c] = pixel[c * problem_.src.c];
    std::fill(to + channels, to + bytes, uint8_t{0});
  }
}

absl::Status AmxKernel::Run(const KernelArgs& args, KernelState*) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const auto* const src = args.Input<uint8_t>(ConvBiasForward::kSrc);
  const auto* const bias = args.Input<int32_t>(ConvBiasForward::kBias);
  const auto* const z = problem_.sum ? args.Input<uint8_t>(ConvBiasForward::kZ) : nullptr;
  auto* const dst = args.Output<uint8_t>(0);
  const auto copy = [&](int64_t image, int64_t y, int64_t x, int64_t count, uint8_t* to) {
    CopyPixels(src + image * problem_.src.n + y * problem_.src.h + x * problem_.src.w, count, to);
  };
  const auto of_pixel = [&](int64_t image, int64_t row, int64_t column, uint8_t*& to,
                            const uint8_t*& addend) {
    const int64_t output = ((image * g.h.output + row) * g.w.output + column) * g.out_channels;
    to = dst + output;
    if (z != nullptr) addend = z + output;
  };
  const auto complete = [&](AmxCall<AmxBytes>& call, const char* packed, int32_t* start) {
    StartOf(reinterpret_cast<const int8_t*>(packed), kPanel * static_cast<int64_t>(sizeof(int32_t)),
            bias + call.channel, call.channels, problem_.to.source_zero_point, start);
    call.results = {.factors = factors_.data() + call.channel,
                    .rounding = problem_.rounding,
                    .sum = problem_.sum ? &*problem_.sum : nullptr};
  };
  positions_.Run<AmxBytes>(code_, problem_.is_signed,
                           {.src = src,
                            .workspace = args.workspace,
                            .of_pixel = of_pixel,
                            .weights = args.Input<char>(ConvBiasForward::kFilter)},
                           copy, complete);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Kernel> AmxConvolution(const QuantizedConvProblem& problem,
                                       const Processor& processor) {
  if (!processor.amx_int8 || TileCodeFor(processor) == nullptr || !AmxKernel::Fits(problem)) {
    return nullptr;
  }
  if (HostProcessor().amx_int8 && !RequestAmx().ok()) return nullptr;
  return std::make_unique<AmxKernel>(problem, processor);
}

}  // namespace ashlar::cpu
