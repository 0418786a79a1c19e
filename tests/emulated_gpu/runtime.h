// The parts of the emulated CUDA runtime that the other libraries use: errors, streams and
// captures.
#ifndef ASHLAR_TESTS_EMULATED_GPU_RUNTIME_H_
#define ASHLAR_TESTS_EMULATED_GPU_RUNTIME_H_

#include <cuda_runtime_api.h>

#include <functional>

#include "tests/emulated_gpu/emulation.h"

namespace ashlar::emulated {

// Keeps the error for cudaGetLastError, and returns it.
cudaError_t Failed(cudaError_t error);
// Returns the result of a kernel's launch: an error of any call that nobody has read yet.
cudaError_t LastError();

int CurrentDevice();  // of this thread

// Returns whether this thread captures a stream. If so, this call is not allowed, and the capture
// is spoilt.
bool IsCapturing(const Call& call);

// Does all pending work of the default stream.
void FinishDefaultStream();

// Returns whether the stream is being captured.
bool IsCaptured(cudaStream_t stream);

// Returns whether both addresses have the kind of memory that the copy names, for so many bytes.
bool AreCopied(const Call& call, const void* to, const void* from, int64_t bytes,
               cudaMemcpyKind kind);

// Enqueues work that takes that time on the device; it is done when the stream is waited for.
// Returns an error if there is no such stream.
cudaError_t Enqueue(const Call& call, cudaStream_t stream, double microseconds,
                    std::function<void()> work);

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_RUNTIME_H_
