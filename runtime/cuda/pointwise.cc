// Elemwise and ElemwiseChain, for every scalar function, dtype and storage format; and
// IntegerElemwise.
#include <array>
#include <utility>
#include <vector>

#include "opr/elemwise_chain.h"
#include "opr/integer_elemwise.h"
#include "runtime/cuda/integer_elemwise_code.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pointwise_chain.h"
#include "runtime/cuda/pointwise_code.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

static_assert(kMaxInputs >= static_cast<int>(ElemwiseChain::kMaxInputs) &&
              kMaxSteps >= static_cast<int>(ElemwiseChain::kMaxSteps));

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
  registry.Register<Elemwise>(MakeElemwise, kComputed);
  registry.Register<ElemwiseChain>(MakeElemwiseChain, kFloats);
  registry.Register<IntegerElemwise>(MakeIntegerElemwise, kIntegers);
}

}  // namespace ashlar::cuda
