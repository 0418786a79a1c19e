// Chains of scalar functions over tensors, for the kernels that are made of them.
#ifndef ASHLAR_RUNTIME_CUDA_POINTWISE_CHAIN_H_
#define ASHLAR_RUNTIME_CUDA_POINTWISE_CHAIN_H_

#include "absl/types/span.h"
#include "graph/shape.h"
#include "opr/elemwise.h"
#include "runtime/cuda/pointwise.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// The function as kernels take it.
ScalarCall CallOf(const ElemwiseParam& param);

// The same as a step: of what the chain has so far, and of inputs 1 and 2 where it has more
// arguments.
ChainStep StepOf(const ElemwiseParam& param);

// The chain, without pointers. At most kMaxInputs inputs, which broadcast to the output and have
// its dtype, and kMaxSteps steps; the output has elements.
ChainParams MakeChain(const TensorType& output, absl::Span<const TensorType> inputs,
                      absl::Span<const ChainStep> steps);

// Launches it on the first inputs and output 0 of `args`.
LaunchError LaunchChain(ChainParams params, const KernelArgs& args, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_POINTWISE_CHAIN_H_
