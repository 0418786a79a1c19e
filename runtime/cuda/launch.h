// How our own kernels are launched. Each family's device code declares `Launch` for its parameters;
// toolkit/<family>.cu defines it. Tests compile that file for the host.
#ifndef ASHLAR_RUNTIME_CUDA_LAUNCH_H_
#define ASHLAR_RUNTIME_CUDA_LAUNCH_H_

#include <cstdint>

namespace ashlar::cuda {

// Null, or the reason why the launch failed (a text with static lifetime). The `stream` of a launch
// is a cudaStream_t.
using LaunchError = const char*;

// Copies contiguous bytes.
LaunchError CopyBytes(void* to, const void* from, int64_t bytes, void* stream);

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_LAUNCH_H_
