// The kernel of BFloat16 convolutions in AMX's tiles (runtime/cpu/amx/bfloat16.cc).
#ifndef ASHLAR_RUNTIME_CPU_CONV_AMX_CONV_H_
#define ASHLAR_RUNTIME_CPU_CONV_AMX_CONV_H_

#include <memory>

#include "runtime/cpu/conv/conv_problem.h"

namespace ashlar::cpu {

// The sizes of copies of pixels (AmxProblem::most_copied), the fastest first. Results have the same
// bits with each.
inline constexpr int64_t kAmxCopies[] = {768 * 1024, 192 * 1024, 48 * 1024};

// Returns the kernel for problems of one group whose images are BFloat16, whose weights are
// constant, and whose output is blocked, if the processor has AMX; otherwise null. Also null if
// this is the machine's processor, and the system refuses its use.
#if defined(__x86_64__)
std::unique_ptr<Kernel> AmxBFloat16Convolution(const ConvProblem& problem, int64_t most_copied,
                                               double relative_time);
#else
inline std::unique_ptr<Kernel> AmxBFloat16Convolution(const ConvProblem&, int64_t, double) {
  return nullptr;
}
#endif

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_AMX_CONV_H_
