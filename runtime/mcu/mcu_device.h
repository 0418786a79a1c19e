// The device "mcu0:0": processors that run generated C. Its kernels are C99 functions that also run
// on this machine, so that plans for it can be tested here.
#ifndef ASHLAR_RUNTIME_MCU_MCU_DEVICE_H_
#define ASHLAR_RUNTIME_MCU_MCU_DEVICE_H_

#include <cstdint>

#include "graph/comp_node.h"
#include "runtime/device/processor.h"

namespace ashlar::mcu {

inline constexpr CompNode kCompNode = {CompNode::Type::kMcu, 0, 0};
// Every chunk of an arena starts at a multiple of so many bytes: of the processor's widest access
// to memory. For other processors than microcontrollers, as for Microcontroller::kGeneric.
int64_t ArenaAlignment(const Processor& processor);

void RegisterDevice();

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_MCU_DEVICE_H_
