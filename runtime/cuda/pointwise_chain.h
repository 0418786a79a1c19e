// Builds and launches chains of scalar functions over tensors.
#ifndef ASHLAR_RUNTIME_CUDA_POINTWISE_CHAIN_H_
#define ASHLAR_RUNTIME_CUDA_POINTWISE_CHAIN_H_

#include "absl/types/span.h"
#include "graph/shape.h"
#include "opr/elemwise.h"
#include "runtime/cuda/pointwise_code.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// Returns the function in the form that kernels take.
ScalarCall CallOf(const ElemwiseParam& param);

// Returns the function as a step: its arguments are the chain's value so far, then inputs 1 and 2
// if it takes more.
ChainStep StepOf(const ElemwiseParam& param);

// Builds the chain, without pointers. There are at most kMaxInputs inputs, which broadcast to the
// output and have its dtype, and at most kMaxSteps steps. The output must have elements.
ChainParams MakeChain(const TensorType& output, absl::Span<const TensorType> inputs,
                      absl::Span<const ChainStep> steps);

// Launches the chain on the first inputs and output 0 of `args`.
LaunchError LaunchChain(ChainParams params, const KernelArgs& args, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_POINTWISE_CHAIN_H_
