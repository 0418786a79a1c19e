// Kernels of 8-bit convolutions, and code that they share.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_H_
#define ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_H_

#include <cstdint>
#include <string>

#include "opr/quantized_conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/kernels.h"

namespace ashlar::cuda {

// Returns our own kernel. Returns Unimplemented for filters that are not constant and have more
// than kMostOwnFactors output channels.
absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvProblem& problem);

// Returns kernels that use a library's product of signed bytes; the workspace holds its rows and
// sums. Only timing can tell whether they are faster than our own kernel, so they are returned only
// if all candidates are requested. They require a constant filter, one group, channels in multiples
// of four and an NHWC output; otherwise the list is empty.
absl::StatusOr<KernelList> QuantizedConvolutionsByProduct(const ConvProblem& problem,
                                                          const ByteProducts& products);

// Returns the requantization for all output channels.
inline Requantization RequantizationOf(const ConvProblem& problem) {
  return RequantizationOf(problem.param, problem.src.quantization, problem.filter.quantization,
                          problem.dst, problem.geometry.groups * problem.geometry.out_channels);
}

// Whether four bytes at `data` can be read at once.
inline bool LiesOnWords(const void* data) { return reinterpret_cast<uintptr_t>(data) % 4 == 0; }

// Returns the values, besides the filter's own scales, from which a filter's packed factors are
// computed: "3d000000 to 3e000000".
std::string ScalesOf(const ConvProblem& problem);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_H_
