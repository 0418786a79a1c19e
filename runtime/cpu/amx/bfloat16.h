// The kernels of BFloat16 convolutions and matrix products in AMX's tiles.
#ifndef ASHLAR_RUNTIME_CPU_AMX_BFLOAT16_H_
#define ASHLAR_RUNTIME_CPU_AMX_BFLOAT16_H_

#include <memory>

#include "opr/matrix_mul.h"
#include "runtime/cpu/conv/conv_problem.h"

namespace ashlar::cpu {

// The sizes of copies of pixels (AmxProblem::most_copied), the fastest first. Results have the same
// bits with each.
inline constexpr int64_t kAmxCopies[] = {768 * 1024, 192 * 1024, 48 * 1024};

// Returns the kernel for problems of one group whose images are BFloat16, whose weights are
// constant, and whose output is blocked, if the processor has AMX; otherwise null. Also null if
// this is the machine's processor, and the system refuses its use.
std::unique_ptr<Kernel> AmxBFloat16Convolution(const ConvProblem& problem, int64_t most_copied,
                                               double relative_time);
// The same for products of BFloat16 matrices with a constant one.
std::unique_ptr<Kernel> AmxBFloat16MatrixMul(const MatrixMulParam& param,
                                             const KernelRequest& request);

#if !defined(__x86_64__)
inline std::unique_ptr<Kernel> AmxBFloat16Convolution(const ConvProblem&, int64_t, double) {
  return nullptr;
}
inline std::unique_ptr<Kernel> AmxBFloat16MatrixMul(const MatrixMulParam&, const KernelRequest&) {
  return nullptr;
}
#endif

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_AMX_BFLOAT16_H_
