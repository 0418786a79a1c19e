#include "runtime/cuda/conv.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "opr/conv_fusion.h"
#include "runtime/cuda/copies.h"
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

const void* BytesOn(const void* data, int64_t bytes) {
  return static_cast<const char*>(data) + bytes;
}

// Takes what negative padding cuts off the image.
void CropSource(ConvProblem& problem) {
  ImageStrides& strides = problem.src_strides;
  strides = StridesOf(problem.src);
  const auto crop = [&](WindowAxis& axis, int dimension, int64_t stride) {
    const int64_t before = std::max<int64_t>(0, -axis.pad_begin);
    const int64_t behind = std::max<int64_t>(0, -axis.pad_end);
    problem.src_offset += before * stride;
    axis.input -= before + behind;
    axis.pad_begin += before;
    axis.pad_end += behind;
    problem.src.shape[dimension] = axis.input;
  };
  crop(problem.geometry.h, 2, strides.h);
  crop(problem.geometry.w, 3, strides.w);
  // Of one image it does not matter where the next one would be: rows of it are an image, too.
  if (problem.src.shape[0] == 1) strides.n = StridesOf(problem.src).n;
}

// Copies the source of a convolution, which lies in a larger image, into the workspace, for a
// kernel that takes whole images only.
class GatheredConvolution final : public Kernel {
 public:
  GatheredConvolution(const ConvProblem& problem, std::unique_ptr<Kernel> inner)
      : bytes_((problem.src.bytes() + kAlignment - 1) / kAlignment * kAlignment),
        inner_(std::move(inner)) {
    const ImageStrides to = StridesOf(problem.src), &from = problem.src_strides;
    copy_ = MakeCopies({{problem.src.shape,
                         {Strides{to.n, to.c, to.h, to.w}, Strides{from.n, from.c, from.h, from.w}},
                         {0, problem.src_offset}}},
                       problem.src.dtype)[0];
  }

  std::string implementation() const override {
    return absl::StrCat("gather+", inner_->implementation());
  }
  int64_t workspace_bytes() const override { return bytes_ + inner_->workspace_bytes(); }
  double relative_time() const override { return inner_->relative_time(); }
  std::optional<Packing> packing(int input) const override { return inner_->packing(input); }
  absl::Status Pack(int input, const HostTensor& value, void* packed) const override {
    return inner_->Pack(input, value, packed);
  }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return inner_->NewState();
  }

  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    CopyParams copy = copy_;
    copy.in[0] = args.inputs[kSrc];
    copy.out = args.workspace;
    ASHLAR_RETURN_IF_ERROR(ToStatus(Launch(copy, static_cast<CudaStream*>(args.stream)->handle())));
    const void* inputs[kZ + 1] = {};
    std::copy(args.inputs.begin(), args.inputs.end(), inputs);
    inputs[kSrc] = args.workspace;
    KernelArgs gathered = args;
    gathered.inputs = absl::MakeSpan(inputs, args.inputs.size());
    gathered.workspace = static_cast<char*>(args.workspace) + bytes_;
    return inner_->Run(gathered, state);
  }

 private:
  static constexpr int64_t kAlignment = 256;  // of what lies behind the copy in the workspace

  const int64_t bytes_;
  const std::unique_ptr<Kernel> inner_;
  CopyParams copy_;
};

// What a library has for the problem; where it takes no part of a larger image, for a copy of it.
absl::StatusOr<KernelList> FromLibrary(
    const ConvProblem& problem,
    const std::function<absl::StatusOr<KernelList>(const ConvProblem&)>& library) {
  ASHLAR_ASSIGN_OR_RETURN(KernelList kernels, library(problem));
  if (!kernels.empty() || problem.is_packed()) return kernels;
  ConvProblem packed = problem;
  packed.src_strides = StridesOf(problem.src);
  packed.src_offset = 0;
  ASHLAR_ASSIGN_OR_RETURN(kernels, library(packed));
  for (std::unique_ptr<Kernel>& kernel : kernels) {
    kernel = std::make_unique<GatheredConvolution>(problem, std::move(kernel));
  }
  return kernels;
}

const ConvBiasParam& ParamOf(const ConvBiasForward& op) { return op.param(); }
ConvBiasParam ParamOf(const ConvolutionForward& op) { return {op.param()}; }

}  // namespace

std::unique_ptr<Kernel> MakeDirectConvolution(const ConvProblem& problem, double relative_time) {
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
  const ImageStrides& in = problem.src_strides;
  params.in_steps = {in.n, in.c, in.h, in.w};
  const int64_t offset = problem.src_offset_bytes();
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
        bound.in = BytesOn(args.inputs[kSrc], offset);
        bound.filter = args.inputs[kFilter];
        bound.bias = has_bias ? args.inputs[kBias] : nullptr;
        bound.z = has_z ? args.inputs[kZ] : nullptr;
        bound.out = args.outputs[0];
        return Launch(bound, stream);
      },
      relative_time);
}

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
  CropSource(problem);
  return problem;
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
      ASHLAR_ASSIGN_OR_RETURN(kernels, FromLibrary(problem, library));
    }
    KernelList depthwise = DepthwiseConvolutions(problem);
    kernels.insert(kernels.begin(), std::make_move_iterator(depthwise.begin()),
                   std::make_move_iterator(depthwise.end()));
    kernels.push_back(MakeDirectConvolution(problem, kernels.empty() ? 1.0 : kDirectSlowdown));
    return kernels;
  };
  registry.Register("ConvBiasForward", make);
  registry.Register("ConvolutionForward", make);
}

}  // namespace ashlar::cuda
