// The CPU backend: comp node cpu0:0.
#ifndef ASHLAR_RUNTIME_CPU_CPU_DEVICE_H_
#define ASHLAR_RUNTIME_CPU_CPU_DEVICE_H_

#include <string>

namespace ashlar::cpu {

// Registers cpu comp nodes with OpenDevice. Call once at program start.
void RegisterDevice();

// Returns the libraries that kernels call, with their versions and the instruction set they use
// here.
std::string Libraries();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CPU_DEVICE_H_
