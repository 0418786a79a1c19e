// Kernels of floats for tensors of Float16.
#ifndef ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_
#define ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_

#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// The factory, which takes tensors of Float16, too: where it refuses them, its kernels of floats
// compute on copies of the tensors in workspace, and results are rounded once.
KernelFactory WithFloat16(KernelFactory factory);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_
