// The kernel of products of BFloat16 matrices in AMX's tiles (runtime/cpu/amx/bfloat16.cc).
#ifndef ASHLAR_RUNTIME_CPU_AMX_MATRIX_MUL_H_
#define ASHLAR_RUNTIME_CPU_AMX_MATRIX_MUL_H_

#include <memory>

#include "opr/matrix_mul.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Returns the kernel if the second matrix is constant and the processor has AMX; otherwise null.
// Also null if this is the machine's processor, and the system refuses its use.
#if defined(__x86_64__)
std::unique_ptr<Kernel> AmxBFloat16MatrixMul(const MatrixMulParam& param,
                                             const KernelRequest& request);
#else
inline std::unique_ptr<Kernel> AmxBFloat16MatrixMul(const MatrixMulParam&, const KernelRequest&) {
  return nullptr;
}
#endif

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_AMX_MATRIX_MUL_H_
