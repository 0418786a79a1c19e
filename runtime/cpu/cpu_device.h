// The CPU backend: comp node cpu0:0.
#ifndef ASHLAR_RUNTIME_CPU_CPU_DEVICE_H_
#define ASHLAR_RUNTIME_CPU_CPU_DEVICE_H_

#include <string>

namespace ashlar::cpu {

// Makes OpenDevice know cpu comp nodes. Call once at program start.
void RegisterDevice();

// The libraries that kernels call, with versions and the instruction set that they use here.
std::string Libraries();

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CPU_DEVICE_H_
