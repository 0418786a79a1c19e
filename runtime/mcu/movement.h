// Copies of elements.
#ifndef ASHLAR_RUNTIME_MCU_MOVEMENT_H_
#define ASHLAR_RUNTIME_MCU_MOVEMENT_H_

#include "runtime/device/kernel.h"

namespace ashlar::mcu {

// Copies every element of input 0 to its place in output 0, which has the same shape and element
// size.
absl::StatusOr<KernelList> CopyOf(const KernelRequest& request);

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_MOVEMENT_H_
