// The emulated GPU in tests.
#ifndef ASHLAR_TESTS_EMULATED_GPU_TESTS_EMULATED_GPU_H_
#define ASHLAR_TESTS_EMULATED_GPU_TESTS_EMULATED_GPU_H_

#include "runtime/device/device.h"
#include "tests/emulated_gpu/control.h"

namespace ashlar::testing {

inline constexpr CompNode kEmulatedGpu = {CompNode::Type::kGpu, 0, 0};

// Of the library beside this program, which is opened by this. Every test of the program fails if
// it misuses the emulated libraries, or leaves anything behind that it has made.
emulated::Control& EmulatedGpu();

// A function of the emulated CUDA runtime's, for tests that do what a caller of the library does.
void* EmulatedFunction(const char* name);

// gpu0:0, or another device of the library.
Device& OpenEmulated(const CompNode& comp_node = kEmulatedGpu);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_EMULATED_GPU_TESTS_EMULATED_GPU_H_
