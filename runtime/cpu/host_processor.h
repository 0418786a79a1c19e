// The processor of this machine.
#ifndef ASHLAR_RUNTIME_CPU_HOST_PROCESSOR_H_
#define ASHLAR_RUNTIME_CPU_HOST_PROCESSOR_H_

#include <string>

#include "runtime/device/processor.h"

namespace ashlar::cpu {

// The best instruction set that the processor has and LimitProcessor allows, and the caches that
// the system names (Processor's defaults where it names none).
const Processor& HostProcessor();

// Whether code for AVX-VNNI runs, which some with AVX512-VNNI have not.
bool HasAvxVnni();

// From here on the processor is as one that has no more than `most`. Before HostProcessor is
// called.
void LimitProcessor(InstructionSet most);

// The processor as it calls itself, its family, model and stepping, on which times of kernels
// depend beside Processor. "AMD EPYC 00a10f11".
std::string HostProcessorName();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_HOST_PROCESSOR_H_
