// Registers one kernel factory for several operators.
#ifndef ASHLAR_RUNTIME_DEVICE_REGISTER_EACH_H_
#define ASHLAR_RUNTIME_DEVICE_REGISTER_EACH_H_

#include "runtime/device/kernel.h"

namespace ashlar {

// Calls KernelRegistry::Register for each of `Ops`.
template <typename... Ops, typename Make>
void RegisterEach(KernelRegistry& registry, const Make& make) {
  (registry.Register<Ops>(make), ...);
}

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_REGISTER_EACH_H_
