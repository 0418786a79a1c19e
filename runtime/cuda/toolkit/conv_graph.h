// A convolution with bias, z and activation as a cuDNN operation graph.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_GRAPH_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_GRAPH_H_

#include <memory>
#include <vector>

#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/toolkit/descriptor.h"

namespace ashlar::cuda {

inline constexpr int64_t kTensorAlignment = 16;  // in bytes, like Device::tensor_alignment

// The tensors of a graph by their number in a variant pack.
enum ConvTensor : int64_t { kX = 1, kW = 2, kY = 3, kBiasTensor = 4, kZTensor = 5 };

// Whether cuDNN can be asked about the problem: all images have one format, and the filter is
// packed for cuDNN or already has its layout.
bool GraphTakes(const ConvProblem& problem);
// The operations after the convolution that the graph includes. The others take a launch of their
// own.
enum class GraphTail { kAll, kSums, kNone };  // kSums: bias and z

// Whether a graph can express the activation.
bool GraphHasActivation(const ConvProblem& problem);

struct ConvGraph {
  std::vector<Descriptor> parts;  // descriptors to which the graph refers
  Descriptor graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  std::vector<ConvTensor> tensors;
};

// Builds the graph of the convolution with that tail. `handle` may be null if the graph is only to
// be checked.
absl::StatusOr<std::shared_ptr<const ConvGraph>> MakeConvGraph(const ConvProblem& problem,
                                                               GraphTail tail,
                                                               cudnnHandle_t handle);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_CONV_GRAPH_H_
