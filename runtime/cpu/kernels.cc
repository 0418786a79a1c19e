#include "runtime/cpu/kernels.h"

#include "runtime/cpu/float16_kernel.h"

namespace ashlar::cpu {

void RegisterKernels(KernelRegistry& registry) {
#define ASHLAR_FAMILY(Name) Register##Name##Kernels(registry);
  ASHLAR_CPU_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY
  registry.ChangeEach(With16BitFloats);
  RegisterWork(registry);
}

}  // namespace ashlar::cpu
