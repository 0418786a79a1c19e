// Runs Float32 kernels on tensors of 16-bit floats.
#ifndef ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_
#define ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_

#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Returns a factory that also takes tensors of 16-bit floats. If `factory` refuses them, its
// Float32 kernels compute on copies in workspace, and results are rounded once.
KernelFactory With16BitFloats(KernelFactory factory);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_
