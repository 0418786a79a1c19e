// All kernels for generated C, with one registering function per operator family.
#ifndef ASHLAR_RUNTIME_MCU_KERNELS_H_
#define ASHLAR_RUNTIME_MCU_KERNELS_H_

#include "runtime/device/kernel.h"

// A family is a file that registers the kernels of related operators, which share code.
#define ASHLAR_MCU_FAMILIES(FAMILY) \
  FAMILY(Convolution)               \
  FAMILY(Elementwise)               \
  FAMILY(MatrixMul)                 \
  FAMILY(Movement)                  \
  FAMILY(Pooling)                   \
  FAMILY(Resize)                    \
  FAMILY(RowWise)                   \
  FAMILY(TypeCvt)

namespace ashlar::mcu {

// Registers the kernels. They refuse tensors of 2 GiB or more, because the C functions count in 32
// bits.
void RegisterKernels(KernelRegistry& registry);

#define ASHLAR_FAMILY(Name) void Register##Name##Kernels(KernelRegistry& registry);
ASHLAR_MCU_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_KERNELS_H_
