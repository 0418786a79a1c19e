// 8-bit convolutions, one thread per output element. Computes four products at a time if channels
// are adjacent.
#include "runtime/cuda/conv/quantized.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "runtime/cuda/byte_type.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

class QuantizedConvolution final : public Kernel {
 public:
  explicit QuantizedConvolution(const ConvProblem& problem)
      : to_(RequantizationOf(problem)),
        offset_(problem.src_offset_bytes()),
        packs_(problem.constant_filter),
        scales_(ScalesOf(problem)),
        taps_(problem.geometry.h.window * problem.geometry.w.window) {
    const ConvolutionGeometry& g = problem.geometry;
    ByteConvParams& p = params_;
    p.channels_last = problem.dst.format == Format::kNHWC;
    p.extents = ImageExtents(problem.dst, 1);
    p.flipped = problem.flipped();
    p.h = StepsOf(g.h);
    p.w = StepsOf(g.w);
    p.in_channels = g.in_channels;
    p.out_channels = g.out_channels;
    const ImageStrides& in = problem.src_strides;
    p.in_steps = {in.n, in.c, in.h, in.w};
    p.out_steps = StepsOf(problem.dst);
    p.filter_k = g.in_channels * taps_;
    p.filter_c = packs_ ? 1 : taps_;
    p.filter_tap = packs_ ? g.in_channels : 1;
    p.of_in = ByteTypeOf(problem.src);
    p.of_out = {false, to_.zero_point, 1, to_.least, to_.most};
    p.by_fours = packs_ && in.c == 1 && g.in_channels % 4 == 0 && in.n % 4 == 0 && in.h % 4 == 0 &&
                 in.w % 4 == 0;
    if (!packs_) std::copy(to_.factors.begin(), to_.factors.end(), p.own_factors);
  }

  std::string implementation() const override {
    return params_.by_fours ? "int8:direct:fours" : "int8:direct";
  }
  // Packs the factors of output channels, then the filter with its input channels innermost.
  std::optional<Packing> packing(int input) const override {
    if (input != kFilter || !packs_) return std::nullopt;
    return Packing{absl::StrCat("int8 KRSC ", scales_),
                   factor_bytes() + static_cast<int64_t>(to_.factors.size()) * params_.filter_k};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    std::memcpy(packed, to_.factors.data(), static_cast<size_t>(factor_bytes()));
    const int8_t* from = value.data<int8_t>().data();
    int8_t* to = static_cast<int8_t*>(packed) + factor_bytes();
    for (size_t k = 0; k < to_.factors.size(); ++k, to += params_.filter_k) {
      for (int64_t c = 0; c < params_.in_channels; ++c) {
        for (int64_t tap = 0; tap < taps_; ++tap) to[tap * params_.in_channels + c] = *from++;
      }
    }
    return absl::OkStatus();
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    ByteConvParams bound = params_;
    bound.in = args.Input<char>(kSrc) + offset_;
    bound.by_fours = bound.by_fours && LiesOnWords(bound.in);
    bound.filter = args.Input<char>(kFilter) + (packs_ ? factor_bytes() : 0);
    if (packs_) bound.factors = args.Input<float>(kFilter);
    bound.bias = args.inputs[kBias];
    bound.out = args.outputs[0];
    return ToStatus(Launch(bound, static_cast<CudaStream*>(args.stream)->handle()));
  }

 private:
  int64_t factor_bytes() const { return static_cast<int64_t>(to_.factors.size() * sizeof(float)); }

  const Requantization to_;
  const int64_t offset_;
  const bool packs_;
  const std::string scales_;  // factors depend on these and the filter's
  const int64_t taps_;
  ByteConvParams params_;
};

}  // namespace

std::string ScalesOf(const ConvProblem& problem) {
  const auto bits = [](const TensorType& type) {
    return absl::Hex(absl::bit_cast<uint32_t>(type.quantization.scale()));
  };
  return absl::StrCat(bits(problem.src), " to ", bits(problem.dst));
}

absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvProblem& problem) {
  const int64_t channels = problem.geometry.groups * problem.geometry.out_channels;
  if (!problem.constant_filter && channels > kMostOwnFactors) {
    return absl::UnimplementedError(absl::StrCat("filter of 8 bits is not constant and has ",
                                                 channels, " output channels, expected at most ",
                                                 kMostOwnFactors));
  }
  if (problem.dst.shape.num_elements() == 0) return NoLaunch();
  KernelList kernels;
  kernels.push_back(std::make_unique<QuantizedConvolution>(problem));
  return kernels;
}

}  // namespace ashlar::cuda
