// The emulated GPU in tests.
#ifndef ASHLAR_TESTS_EMULATED_GPU_TESTS_EMULATED_GPU_H_
#define ASHLAR_TESTS_EMULATED_GPU_TESTS_EMULATED_GPU_H_

#include "runtime/device/device.h"
#include "tests/emulated_gpu/control.h"

namespace ashlar::testing {

inline constexpr CompNode kEmulatedGpu = {CompNode::Type::kGpu, 0, 0};

// Returns the control of the library beside this program, and opens that library. Every test of the
// program fails if it misuses the emulated libraries, or leaves an object behind.
emulated::Control& EmulatedGpu();

// Returns a function of the emulated CUDA runtime, for tests that act as a caller of the library.
void* EmulatedFunction(const char* name);

// Returns gpu0:0, or another device of the library.
Device& OpenEmulated(const CompNode& comp_node = kEmulatedGpu);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_EMULATED_GPU_TESTS_EMULATED_GPU_H_
