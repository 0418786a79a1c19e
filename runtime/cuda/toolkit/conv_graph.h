// A convolution with what follows it, as an operation graph of cuDNN's.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_GRAPH_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_GRAPH_H_

#include <memory>
#include <vector>

#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/toolkit/descriptor.h"

namespace ashlar::cuda {

inline constexpr int64_t kTensorAlignment = 16;  // bytes, as Device::tensor_alignment

// The tensors of a graph by their numbers in a variant pack.
enum ConvTensor : int64_t { kX = 1, kW = 2, kY = 3, kBiasTensor = 4, kZTensor = 5 };

// Whether the library can be asked at all: an image format throughout, and a filter that is packed
// for it, or lies as it should.
bool GraphTakes(const ConvProblem& problem);
// The part of bias, z and activation that is in a graph; the rest takes a launch of its own.
enum class GraphTail { kAll, kSums, kNone };  // kSums: bias and z

// Whether a graph can describe the activation.
bool GraphHasActivation(const ConvProblem& problem);

struct ConvGraph {
  std::vector<Descriptor> parts;  // that the graph refers to
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::vector<ConvTensor> tensors;
};

// The convolution with that tail. `handle` may be null where the graph is only to be checked.
absl::StatusOr<std::shared_ptr<const ConvGraph>> MakeConvGraph(const ConvProblem& problem,
                                                               GraphTail tail,
                                                               cudnnHandle_t handle);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_GRAPH_H_
