// Elemwise and ElemwiseChain, for every scalar function, dtype and storage format; and
// IntegerElemwise.
#include "runtime/cuda/pointwise.h"

#include <utility>
#include <vector>

#include "opr/elemwise_chain.h"
#include "opr/integer_elemwise.h"
#include "runtime/cuda/integer_elemwise_code.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pointwise_chain.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

static_assert(kMaxInputs >= static_cast<int>(ElemwiseChain::kMaxInputs) &&
              kMaxSteps >= static_cast<int>(ElemwiseChain::kMaxSteps));

constexpr int kPackBytes = 16;

}  // namespace

ChainParams MakeChain(const TensorType& output, absl::Span<const TensorType> inputs,
                      absl::Span<const ChainStep> steps) {
  ChainParams params;
  params.dtype = ScalarOf(output.dtype);
  params.inputs = static_cast<int>(inputs.size());
  params.steps = static_cast<int>(steps.size());
  std::copy(steps.begin(), steps.end(), params.chain);
  Shape shape = output.shape;
  std::array<Strides, kMaxInputs + 1> strides;
  strides.fill(Strides(shape.rank(), 0));
  strides[0] = StridesOver(output, shape);
  for (size_t i = 0; i < inputs.size(); ++i) strides[i + 1] = StridesOver(inputs[i], shape);
  // Dimensions of size 1 have stride 0, so their place in the order does not matter.
  OrderByMemory(shape, strides);
  if (IsFloat(output.dtype)) {
    const int most = kPackBytes / static_cast<int>(SizeOf(output.dtype));
    params.pack = PackOf(shape, strides, inputs.size() + 1, most);
    if (params.pack != most) params.pack = 1;  // there are only kernels for whole packs
  }
  const int inner = shape.rank() - 1;
  if (params.pack > 1) {
    shape[inner] /= params.pack;
    for (size_t k = 0; k <= inputs.size(); ++k) {
      if (k > 0) params.contiguous[k - 1] = strides[k][inner] == 1;
      strides[k][inner] *= params.pack;
    }
  }
  params.walk = MakeWalk<kMaxInputs + 1>(shape, strides);
  return params;
}

ScalarCall CallOf(const ElemwiseParam& param) {
  ScalarCall call;
  call.function = param.mode;
  std::copy(param.parameters.begin(), param.parameters.end(), call.parameters);
  return call;
}

ChainStep StepOf(const ElemwiseParam& param) {
  ChainStep step;
  step.call = CallOf(param);
  const int arity = Arity(param.mode);
  step.b = static_cast<int8_t>(arity > 1 ? 1 : ChainStep::kParameter);
  step.c = static_cast<int8_t>(arity > 2 ? 2 : ChainStep::kParameter - 2 + arity);
  return step;
}

LaunchError LaunchChain(ChainParams params, const KernelArgs& args, void* stream) {
  for (int i = 0; i < params.inputs; ++i) params.in[i] = args.inputs[i];
  params.out = args.outputs[0];
  return Launch(params, stream);
}

namespace {

absl::StatusOr<KernelList> MakeElemwise(const Elemwise& op, const KernelRequest& request) {
  const ElemwiseParam& param = op.param();
  if (request.outputs[0].shape.num_elements() == 0) return NoLaunch();
  const ChainParams params = MakeChain(request.outputs[0], request.inputs, {StepOf(param)});
  return OnlyLaunch(
      params.pack > 1 ? "elementwise:packs" : "elementwise",
      [params](const KernelArgs& args, void* stream) { return LaunchChain(params, args, stream); });
}

absl::StatusOr<KernelList> MakeElemwiseChain(const ElemwiseChain& op,
                                             const KernelRequest& request) {
  const ElemwiseChainParam& param = op.param();
  if (request.outputs[0].shape.num_elements() == 0) return NoLaunch();
  static_assert(ElemwiseChainParam::kChained == ChainStep::kChained);
  std::vector<ChainStep> steps(param.steps());
  for (size_t s = 0; s < steps.size(); ++s) {
    steps[s].call.function = static_cast<ScalarFunction>(param.mode[s]);
    steps[s].a = static_cast<int8_t>(param.a[s]);
    steps[s].b = static_cast<int8_t>(param.b[s]);
    steps[s].c = static_cast<int8_t>(param.c[s]);
  }
  const ChainParams params = MakeChain(request.outputs[0], request.inputs, steps);
  return OnlyLaunch(
      params.pack > 1 ? "chain:packs" : "chain",
      [params](const KernelArgs& args, void* stream) { return LaunchChain(params, args, stream); });
}

absl::StatusOr<KernelList> MakeIntegerElemwise(const IntegerElemwise& op,
                                               const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  if (output.shape.num_elements() == 0) return NoLaunch();
  Shape shape = output.shape;
  std::array<Strides, 3> strides = {StridesOver(output, shape),
                                    StridesOver(request.inputs[0], shape),
                                    StridesOver(request.inputs[1], shape)};
  OrderByMemory(shape, strides);
  IntegerElemwiseParams params;
  params.walk = MakeWalk<3>(shape, strides);
  params.function = op.param().mode;
  params.dtype_a = ScalarOf(request.inputs[0].dtype);
  params.dtype_b = ScalarOf(request.inputs[1].dtype);
  params.bits = static_cast<int>(8 * SizeOf(output.dtype));
  return OnlyLaunch("elementwise:integers", params,
                    [](IntegerElemwiseParams& bound, const KernelArgs& args) {
                      bound.a = args.inputs[0];
                      bound.b = args.inputs[1];
                      bound.out = args.outputs[0];
                    });
}

}  // namespace

void RegisterPointwiseKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<Elemwise>(MakeElemwise);
  registry.Register<ElemwiseChain>(MakeElemwiseChain);
  registry.Register<IntegerElemwise>(MakeIntegerElemwise);
}

}  // namespace ashlar::cuda
