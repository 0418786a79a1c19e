// Kernels of ConvolutionForward and ConvBiasForward, and code that they share.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_CONV_H_
#define ASHLAR_RUNTIME_CUDA_CONV_CONV_H_

#include <functional>
#include <memory>

#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/device/kernel.h"

namespace ashlar::cuda {

// Returns our own kernel, which is slow but takes all problems that libraries refuse.
std::unique_ptr<Kernel> MakeDirectConvolution(const ConvProblem& problem, double relative_time);

// Returns a library's kernels for the problem. If the library does not take a part of a larger
// image, they work on a copy of it.
absl::StatusOr<KernelList> LibraryConvolutions(
    const ConvProblem& problem,
    const std::function<absl::StatusOr<KernelList>(const ConvProblem&)>& library);

// Returns our own kernels for convolutions with one window per channel, the best first, or none for
// other problems. They are expected to be faster than a library's.
KernelList DepthwiseConvolutions(const ConvProblem& problem);

// The packing of a constant filter for libraries: [K, R, S, C/groups], rotated if the problem is
// flipped.
Packing FilterPacking(const ConvProblem& problem);
void PackFilter(const ConvProblem& problem, const HostTensor& filter, void* packed);

// Returns a kernel that adds bias and z and applies the activation, in one launch after a plain
// convolution. With z, which may share the output's address, it reads the sums from the workspace,
// otherwise from the output.
std::unique_ptr<Kernel> MakeConvEpilogue(const ConvProblem& problem);
bool NeedsEpilogue(const ConvProblem& problem);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_CONV_H_
