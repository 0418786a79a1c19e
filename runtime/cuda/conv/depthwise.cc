// Depthwise convolutions: little arithmetic for much memory, so libraries have few kernels for
// them.
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "opr/conv_bias.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/conv/depthwise_code.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pointwise_chain.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

constexpr int kPackBytes = 16;

// So many threads keep a large device busy; with fewer, each thread should do less.
constexpr int64_t kBusyThreads = int64_t{1} << 18;

// Expected time relative to the library's best kernel; and of the less suitable run length,
// relative to the other.
constexpr double kOverLibrary = 0.75, kOtherRuns = 1.1;

class DepthwiseConvolution final : public Kernel {
 public:
  DepthwiseConvolution(const ConvProblem& problem, const DepthwiseParams& params,
                       double relative_time)
      : problem_(problem), params_(params), relative_time_(relative_time) {}

  std::string implementation() const override {
    return absl::StrCat("depthwise", params_.pack > 1 ? ":packs" : "",
                        params_.run > 1 ? absl::StrCat("/runs of ", params_.run) : "");
  }
  double relative_time() const override { return relative_time_; }

  std::optional<Packing> packing(int input) const override {
    if (input != kFilter) return std::nullopt;
    return Packing{problem_.flipped() ? "RSC flipped" : "RSC", problem_.filter.bytes()};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override {
    const size_t element = static_cast<size_t>(SizeOf(value.dtype()));
    const int64_t taps = params_.h.window * params_.w.window;
    const char* from = static_cast<const char*>(value.raw());
    char* const to = static_cast<char*>(packed);
    for (int64_t c = 0; c < params_.channels; ++c) {
      for (int64_t tap = 0; tap < taps; ++tap, from += element) {
        const int64_t place = problem_.flipped() ? taps - 1 - tap : tap;
        std::memcpy(to + static_cast<size_t>(place * params_.channels + c) * element, from,
                    element);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    DepthwiseParams bound = params_;
    bound.in = args.Input<char>(kSrc) + problem_.src_offset_bytes();
    bound.filter = args.inputs[kFilter];
    bound.bias = problem_.has_bias ? args.inputs[kBias] : nullptr;
    bound.z = problem_.z.has_value() ? args.inputs[kZ] : nullptr;
    bound.out = args.outputs[0];
    return ToStatus(Launch(bound, static_cast<CudaStream*>(args.stream)->handle()));
  }

 private:
  const ConvProblem problem_;
  const DepthwiseParams params_;
  const double relative_time_;
};

void SetActivation(const ConvBiasParam& param, DepthwiseParams& params) {
  params.activation = CallOf(ActivationParam(param));
  switch (params.activation.function) {
    case ScalarFunction::kIdentity:
      return;
    case ScalarFunction::kRelu:
      params.low = 0;
      return;
    case ScalarFunction::kClamp:
      params.low = static_cast<float>(params.activation.parameters[0]);
      params.high = static_cast<float>(params.activation.parameters[1]);
      return;
    default:
      params.called = true;
  }
}

}  // namespace

KernelList DepthwiseConvolutions(const ConvProblem& problem) {
  const ConvolutionGeometry& g = problem.geometry;
  KernelList kernels;
  const bool one_format = problem.dst.format == problem.src.format &&
                          (!problem.z.has_value() || problem.z->format == problem.src.format);
  if (g.in_channels != 1 || g.out_channels != 1 || !problem.constant_filter || !one_format) {
    return kernels;
  }
  const Shape& out = problem.dst.shape;
  DepthwiseParams params;
  params.channels_last = problem.dst.format == Format::kNHWC;
  params.dtype = ScalarOf(problem.dst.dtype);
  params.channels = g.groups;
  params.out_w = out[3];
  const int most = kPackBytes / static_cast<int>(SizeOf(problem.dst.dtype));
  params.pack = params.channels_last && params.channels % most == 0 ? most : 1;
  params.h = {g.h.input, g.h.window, g.h.stride, g.h.dilation, g.h.pad_begin};
  params.w = {g.w.input, g.w.window, g.w.stride, g.w.dilation, g.w.pad_begin};
  const ImageStrides& in = problem.src_strides;
  params.in_steps = {in.n, in.c, in.h, in.w};
  params.out_steps = StepsOf(problem.dst);
  if (problem.z.has_value()) params.z_steps = StepsOf(*problem.z);
  params.source = problem.source_bounds();
  SetActivation(problem.param, params);
  const int64_t threads = out.num_elements() / params.pack;
  const bool long_runs = threads / kDepthwiseRun >= kBusyThreads;
  const auto add = [&](int run) {
    // In row-major images, adjacent outputs belong to different threads, which read shared pixels
    // together. So runs do not pay.
    if (run > 1 && !params.channels_last) return;
    params.run = run;
    const int64_t columns = (out[3] + run - 1) / run;
    params.extents = ExtentsOf(
        params.channels_last ? Shape{out[0], out[2], columns, out[1] / params.pack} : out);
    const bool suits = params.channels_last ? (run > 1) == long_runs : true;
    kernels.push_back(std::make_unique<DepthwiseConvolution>(
        problem, params, kOverLibrary * (suits ? 1 : kOtherRuns)));
  };
  add(long_runs ? kDepthwiseRun : 1);
  add(long_runs ? 1 : kDepthwiseRun);
  return kernels;
}

}  // namespace ashlar::cuda
