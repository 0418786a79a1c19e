// What the kernels of ConvolutionForward and ConvBiasForward are asked for.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_H_
#define ASHLAR_RUNTIME_CUDA_CONV_H_

#include <optional>
#include <string>

#include "opr/conv_bias.h"
#include "runtime/kernel.h"

namespace ashlar::cuda {

// A request for either operator as the kernels see it. A ConvolutionForward has neither bias nor z
// and nonlineMode IDENTITY; inputs stand where ConvBiasForward has them.
struct ConvProblem {
  ConvBiasParam param;
  ConvolutionGeometry geometry;
  TensorType src, filter, dst;
  bool constant_filter = false;
  bool has_bias = false;
  std::optional<TensorType> z;
  KernelPolicy policy;

  // Whether the filter is turned by 180 degrees before it is slid over the image.
  bool flipped() const { return param.mode == ConvolutionMode::kConvolution; }
  // All that a measured time depends on but for device and library: a key of the cache of times.
  std::string ToString() const;
};

absl::StatusOr<ConvProblem> ReadConvolution(const KernelRequest& request);

// A constant filter as libraries read it: [K, R, S, C/groups], turned where the problem says so.
Packing FilterPacking(const ConvProblem& problem);
void PackFilter(const ConvProblem& problem, const HostTensor& filter, void* packed);

// What has to follow a convolution that adds and activates nothing itself: bias, z and activation
// in one launch. Where there is a z, which may lie where the output does, the sums are read from
// the workspace; else from the output.
std::unique_ptr<Kernel> MakeConvEpilogue(const ConvProblem& problem);
bool NeedsEpilogue(const ConvProblem& problem);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_H_
