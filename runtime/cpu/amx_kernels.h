// The kernels in AMX's tiles (runtime/cpu/amx). Each function returns null if the processor has no
// AMX, or if it is the machine's processor and the system refuses the use of AMX.
#ifndef ASHLAR_RUNTIME_CPU_AMX_KERNELS_H_
#define ASHLAR_RUNTIME_CPU_AMX_KERNELS_H_

#include <cstdint>
#include <memory>

#include "opr/matrix_mul.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

struct ConvProblem;           // conv/conv_problem.h
struct QuantizedConvProblem;  // quantized/conv_problem.h

// The sizes of copies of pixels (AmxProblem::most_copied), the fastest first. Results have the same
// bits with each.
inline constexpr int64_t kAmxCopies[] = {768 * 1024, 192 * 1024, 48 * 1024};

#if defined(__x86_64__)
// Multiplies BFloat16 matrices, of which the second one is constant; null for others.
std::unique_ptr<Kernel> AmxBFloat16MatrixMul(const MatrixMulParam& param,
                                             const KernelRequest& request);
// Convolves BFloat16 images in one group with constant weights, to a blocked output; null for
// others.
std::unique_ptr<Kernel> AmxBFloat16Convolution(const ConvProblem& problem, int64_t most_copied,
                                               double relative_time);
// Convolves bytes in one group with constant weights, to NHWC; null for others.
std::unique_ptr<Kernel> AmxConvolution(const QuantizedConvProblem& problem,
                                       const Processor& processor);
#else
inline std::unique_ptr<Kernel> AmxBFloat16MatrixMul(const MatrixMulParam&, const KernelRequest&) {
  return nullptr;
}
inline std::unique_ptr<Kernel> AmxBFloat16Convolution(const ConvProblem&, int64_t, double) {
  return nullptr;
}
inline std::unique_ptr<Kernel> AmxConvolution(const QuantizedConvProblem&, const Processor&) {
  return nullptr;
}
#endif

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_AMX_KERNELS_H_
