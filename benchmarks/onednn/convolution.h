// Convolutions by oneDNN with fused bias, residual and activation.
#ifndef ASHLAR_BENCHMARKS_ONEDNN_CONVOLUTION_H_
#define ASHLAR_BENCHMARKS_ONEDNN_CONVOLUTION_H_

#include "runtime/cpu/conv/conv_problem.h"

namespace ashlar::onednn {

// Appends oneDNN's implementations for the problem, fastest first; none if it has only reference
// code.
absl::Status AddOneDnnConvolutions(const cpu::ConvProblem& problem, KernelList& kernels);

}  // namespace ashlar::onednn

#endif  // ASHLAR_BENCHMARKS_ONEDNN_CONVOLUTION_H_
