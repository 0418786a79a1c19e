// How our own kernels are launched: each family's device code declares `Launch` for its parameters
// and toolkit/<family>.cu, which tests compile for the host, defines it.
#ifndef ASHLAR_RUNTIME_CUDA_LAUNCH_H_
#define ASHLAR_RUNTIME_CUDA_LAUNCH_H_

#include <cstdint>

namespace ashlar::cuda {

// Null, or why the launch failed (a text that stays). The `stream` of a launch is a cudaStream_t.
using LaunchError = const char*;

// Copies bytes that lie in the same order.
LaunchError CopyBytes(void* to, const void* from, int64_t bytes, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_LAUNCH_H_
