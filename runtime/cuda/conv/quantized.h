// Convolutions of 8 bits: the kernels, and what they share.
#ifndef ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_H_
#define ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_H_

#include <cstdint>
#include <string>

#include "opr/quantized_conv.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/kernels.h"

namespace ashlar::cuda {

// The kernel of our own. Unimplemented for filters that are not constant and have more than
// kMostOwnFactors output channels.
absl::StatusOr<KernelList> QuantizedConvolutionKernels(const ConvProblem& problem);

// By a library's products of signed bytes, with room for the rows and sums of these in the
// workspace. Whether one is faster than the kernel of our own is for timing to say, so they are for
// those who ask for all candidates. Empty for others, and but for constant filters of one group
// between channels in fours, with channels last behind them.
absl::StatusOr<KernelList> QuantizedConvolutionsByProduct(const ConvProblem& problem,
                                                          const ByteProducts& products);

// Of all output channels.
inline Requantization RequantizationOf(const ConvProblem& problem) {
  return RequantizationOf(problem.param, problem.src.quantization, problem.filter.quantization,
                          problem.dst, problem.geometry.groups * problem.geometry.out_channels);
}

// Four bytes there can be read at once.
inline bool LiesOnWords(const void* data) { return reinterpret_cast<uintptr_t>(data) % 4 == 0; }

// What a filter's packed factors are of, besides its own scales: "3d000000 to 3e000000".
std::string ScalesOf(const ConvProblem& problem);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_CONV_QUANTIZED_H_
