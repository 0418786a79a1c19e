// The kernel of 8-bit convolutions in AMX's tiles (runtime/cpu/amx/bytes.cc).
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_CONV_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_CONV_H_

#include <memory>

#include "runtime/cpu/quantized/conv_problem.h"

namespace ashlar::cpu {

// Returns the kernel for problems of one group whose weights are constant and whose output is NHWC,
// if the processor has AMX; otherwise null. Also null if this is the machine's processor, and the
// system refuses its use.
#if defined(__x86_64__)
std::unique_ptr<Kernel> AmxConvolution(const QuantizedConvProblem& problem,
                                       const Processor& processor);
#else
inline std::unique_ptr<Kernel> AmxConvolution(const QuantizedConvProblem&, const Processor&) {
  return nullptr;
}
#endif

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_AMX_CONV_H_
