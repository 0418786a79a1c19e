// The CPU's device, for tests of single kernels.
#ifndef ASHLAR_TESTS_RUNTIME_CPU_OPENED_DEVICE_H_
#define ASHLAR_TESTS_RUNTIME_CPU_OPENED_DEVICE_H_

#include "runtime/cpu/cpu_device.h"
#include "runtime/device/device.h"
#include "tests/support/status.h"

namespace ashlar::testing {

inline Device& CpuDevice() {
  cpu::RegisterDevice();
  return *Value(OpenDevice(CompNode()));
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CPU_OPENED_DEVICE_H_
