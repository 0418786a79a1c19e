// Runs Float32 kernels on Float16 tensors.
#ifndef ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_
#define ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_

#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Returns a factory that also takes Float16 tensors. If `factory` refuses them, its Float32 kernels
// compute on copies in workspace, and results are rounded once.
KernelFactory WithFloat16(KernelFactory factory);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_FLOAT16_KERNEL_H_
