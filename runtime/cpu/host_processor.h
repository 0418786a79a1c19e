// The processor of this machine.
#ifndef ASHLAR_RUNTIME_CPU_HOST_PROCESSOR_H_
#define ASHLAR_RUNTIME_CPU_HOST_PROCESSOR_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/device/processor.h"

namespace ashlar::cpu {

// Returns the best instruction set that the processor has and LimitProcessor allows, and the cache
// sizes that the system reports (otherwise Processor's defaults).
const Processor& HostProcessor();

// Whether AVX-VNNI code runs here. Some processors with AVX512-VNNI lack it.
bool HasAvxVnni();

// Asks the system to let this process use AMX's registers, once per process; the permission stays
// until its end. Unavailable if the system refuses, as it does if a signal's own stack is too small
// for the registers.
absl::Status RequestAmx();

// Makes HostProcessor report no more than `most`. Call it before HostProcessor.
void LimitProcessor(InstructionSet most);

// Returns the processor's name, family, model and stepping, e.g. "AMD EPYC 00a10f11". Times of
// kernels depend on these, in addition to Processor.
std::string HostProcessorName();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_HOST_PROCESSOR_H_
