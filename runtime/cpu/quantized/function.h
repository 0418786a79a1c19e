// Functions of several tensors, of which the first has 8 bits, on the CPU.
#ifndef ASHLAR_RUNTIME_CPU_QUANTIZED_FUNCTION_H_
#define ASHLAR_RUNTIME_CPU_QUANTIZED_FUNCTION_H_

#include "opr/elemwise_multi_type.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

KernelList ByteFunctionKernel(const ElemwiseMultiType& op, const KernelRequest& request);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_QUANTIZED_FUNCTION_H_
