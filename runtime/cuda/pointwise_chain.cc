#include "runtime/cuda/pointwise_chain.h"

#include <algorithm>
#include <array>

#include "opr/elemwise.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

constexpr int kChainPackBytes = 16;

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
    const int most = kChainPackBytes / static_cast<int>(SizeOf(output.dtype));
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

}  // namespace ashlar::cuda
