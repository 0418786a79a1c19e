// Convolutions by oneDNN, bias, residual and activation fused.
#ifndef ASHLAR_RUNTIME_CPU_CONV_ONEDNN_H_
#define ASHLAR_RUNTIME_CPU_CONV_ONEDNN_H_

#include "runtime/cpu/conv/conv.h"

namespace ashlar::cpu {

// Appends oneDNN's implementations for the problem, fastest first; none where it has only its
// reference code.
absl::Status AddOneDnnConvolutions(const ConvProblem& problem, KernelList& kernels);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_ONEDNN_H_
