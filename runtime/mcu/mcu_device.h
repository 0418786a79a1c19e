// The device "mcu0:0": processors that run generated C. Its kernels are functions in C99, which
// this machine runs as well, so that a plan for it can be tried here.
#ifndef ASHLAR_RUNTIME_MCU_MCU_DEVICE_H_
#define ASHLAR_RUNTIME_MCU_MCU_DEVICE_H_

#include "graph/comp_node.h"

namespace ashlar::mcu {

inline constexpr CompNode kCompNode = {CompNode::Type::kMcu, 0, 0};
// Bytes to a multiple of which every chunk of an arena lies.
inline constexpr int64_t kArenaAlignment = 8;

void RegisterDevice();

}  // namespace ashlar::mcu

#endif  // ASHLAR_RUNTIME_MCU_MCU_DEVICE_H_
