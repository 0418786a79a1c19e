#include "runtime/cuda/conv.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "opr/conv_fusion.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pointwise_chain.h"
#include "runtime/cuda/walks.h"

namespace ashlar::cuda {
namespace {

constexpr int kSrc = ConvBiasForward::kSrc, kFilter = ConvBiasForward::kFilter,
              kBias = ConvBiasForward::kBias, kZ = ConvBiasForward::kZ;

// Expected time over that of the library: no element is read twice from a nearer memory.
constexpr double kDirectSlowdown = 30;

WindowSteps StepsOf(const WindowAxis& axis) {
  return {axis.input, axis.window, axis.stride, axis.dilation, axis.pad_begin};
}

std::unique_ptr<Kernel> MakeDirect(const ConvProblem& problem, double relative_time) {
  const ConvolutionGeometry& g = problem.geometry;
  const Shape& out = problem.dst.shape;
  DirectConvParams params;
  params.channels_last = problem.dst.format == Format::kNHWC;
  params.extents = ExtentsOf(params.channels_last ? Shape{out[0], out[2], out[3], out[1]} : out);
  params.dtype = ScalarOf(problem.dst.dtype);
  params.h = StepsOf(g.h);
  params.w = StepsOf(g.w);
  params.in_channels = g.in_channels;
  params.out_channels = g.out_channels;
  params.flipped = problem.flipped();
  params.in_steps = cuda::StepsOf(problem.src);
  params.out_steps = cuda::StepsOf(problem.dst);
  if (problem.z.has_value()) params.z_steps = cuda::StepsOf(*problem.z);
  params.filter_w = 1;  // row-major, as it is given
  params.filter_h = g.w.window;
  params.filter_c = g.h.window * g.w.window;
  params.filter_k = g.in_channels * params.filter_c;
  if (const std::optional<ElemwiseParam> activation = ActivationParam(problem.param)) {
    params.activated = true;
    params.activation = static_cast<Function>(activation->mode);
    params.lo = static_cast<float>(activation->lo);
    params.hi = static_cast<float>(activation->hi);
  }
  const bool has_bias = problem.has_bias, has_z = problem.z.has_value();
  return std::make_unique<LaunchedKernel>(
      "direct",
      [=](const KernelArgs& args, void* stream) {
        DirectConvParams bound = params;
        bound.in = args.inputs[kSrc];
        bound.filter = args.inputs[kFilter];
        bound.bias = has_bias ? args.inputs[kBias] : nullptr;
        bound.z = has_z ? args.inputs[kZ] : nullptr;
        bound.out = args.outputs[0];
        return Launch(bound, stream);
      },
      relative_time);
}

const ConvBiasParam& ParamOf(const ConvBiasForward& op) { return op.param(); }
ConvBiasParam ParamOf(const ConvolutionForward& op) { return {op.param()}; }

}  // namespace

absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request) {
  const std::vector<TensorType>& inputs = request.inputs;
  ConvProblem problem;
  problem.param = request.op->type() == "ConvBiasForward"
                      ? ParamOf(static_cast<const ConvBiasForward&>(*request.op))
                      : ParamOf(static_cast<const ConvolutionForward&>(*request.op));
  problem.src = inputs[kSrc];
  problem.filter = inputs[kFilter];
  problem.dst = request.outputs[0];
  problem.constant_filter = request.constant[kFilter];
  problem.has_bias = inputs.size() > kBias;
  if (inputs.size() > kZ) problem.z = inputs[kZ];
  problem.policy = request.policy;
  if (problem.filter.format != Format::kDefault) {
    return absl::UnimplementedError(
        absl::StrCat("filter is ", problem.filter.ToString(), ", expected row-major"));
  }
  ASHLAR_ASSIGN_OR_RETURN(problem.geometry,
                          InferConvolution(problem.param, problem.src, problem.filter));
  return problem;
}

std::string ConvProblem::ToString() const {
  const auto axis = [](const WindowAxis& a) {
    return absl::StrCat(a.stride, ",", a.dilation, ",", a.pad_begin, ",", a.pad_end);
  };
  return absl::StrCat("conv ", src.ToString(), " ", filter.ToString(), " g", geometry.groups, " h",
                      axis(geometry.h), " w", axis(geometry.w), " ", dst.ToString(),
                      has_bias ? " bias" : "", z.has_value() ? " z" : "", " act",
                      static_cast<int>(param.nonlineMode), policy.allow_tf32 ? " tf32" : "");
}

Packing FilterPacking(const ConvProblem& problem) {
  return {problem.flipped() ? "KRSC flipped" : "KRSC", problem.filter.bytes()};
}

void PackFilter(const ConvProblem& problem, const HostTensor& filter, void* packed) {
  const ConvolutionGeometry& g = problem.geometry;
  const size_t element = static_cast<size_t>(SizeOf(filter.dtype()));
  const int64_t taps = g.h.window * g.w.window;
  const char* const from = static_cast<const char*>(filter.raw());
  char* to = static_cast<char*>(packed);
  for (int64_t k = 0; k < g.groups * g.out_channels; ++k) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t source = problem.flipped() ? taps - 1 - tap : tap;
      for (int64_t c = 0; c < g.in_channels; ++c, to += element) {
        std::memcpy(to, from + ((k * g.in_channels + c) * taps + source) * element, element);
      }
    }
  }
}

bool NeedsEpilogue(const ConvProblem& problem) {
  return problem.has_bias || problem.z.has_value() ||
         problem.param.nonlineMode != Activation::kIdentity;
}

std::unique_ptr<Kernel> MakeConvEpilogue(const ConvProblem& problem) {
  std::vector<TensorType> inputs = {problem.dst};
  std::vector<int> sources = {-1};  // inputs of the convolution; -1: the sums
  std::vector<ChainStep> steps;
  const auto add = [&](const TensorType& type, int source) {
    ChainStep step;
    step.function = Function::kAdd;
    step.b = static_cast<int8_t>(inputs.size());
    steps.push_back(step);
    inputs.push_back(type);
    sources.push_back(source);
  };
  if (problem.has_bias) {
    add({problem.dst.dtype, {1, problem.dst.shape[1], 1, 1}}, kBias);
  }
  if (problem.z.has_value()) add(*problem.z, kZ);
  if (const std::optional<ElemwiseParam> activation = ActivationParam(problem.param)) {
    ChainStep step;
    step.function = static_cast<Function>(activation->mode);
    step.lo = static_cast<float>(activation->lo);
    step.hi = static_cast<float>(activation->hi);
    steps.push_back(step);
  }
  const ChainParams params = MakeChain(problem.dst, inputs, steps);
  const bool has_z = problem.z.has_value();
  return std::make_unique<LaunchedKernel>(
      "epilogue",
      [=](const KernelArgs& args, void* stream) {
        const void* const sums = has_z ? args.workspace : args.outputs[0];
        const void* pointers[kMaxInputs] = {};
        for (size_t i = 0; i < sources.size(); ++i) {
          pointers[i] = sources[i] < 0 ? sums : args.inputs[sources[i]];
        }
        KernelArgs chained = args;
        chained.inputs = absl::MakeSpan(pointers, sources.size());
        return LaunchChain(params, chained, stream);
      },
      1.0);
}

void RegisterConvolutionKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
  const auto make = [library = libraries.convolution](
                        const KernelRequest& request) -> absl::StatusOr<KernelList> {
    ASHLAR_ASSIGN_OR_RETURN(const ConvProblem problem, ReadConvolution(request));
    KernelList kernels;
    if (library) {
      ASHLAR_ASSIGN_OR_RETURN(kernels, library(problem));
    }
    kernels.push_back(MakeDirect(problem, kernels.empty() ? 1.0 : kDirectSlowdown));
    return kernels;
  };
  registry.Register("ConvBiasForward", make);
  registry.Register("ConvolutionForward", make);
}

}  // namespace ashlar::cuda
