// Of the emulated CUDA runtime, what the other libraries use: errors, streams and captures.
#ifndef ASHLAR_TESTS_EMULATED_GPU_RUNTIME_H_
#define ASHLAR_TESTS_EMULATED_GPU_RUNTIME_H_

#include <cuda_runtime_api.h>

#include <functional>

#include "tests/emulated_gpu/emulation.h"

namespace ashlar::emulated {

// Keeps the error for cudaGetLastError, and returns it.
cudaError_t Failed(cudaError_t error);
// What a kernel's launch returns: an error that nobody has asked for yet, of whatever call.
cudaError_t LastError();

int CurrentDevice();  // of this thread

// Whether this thread captures a stream, in which case this call is not allowed: the capture is
// then spoilt.
bool IsCapturing(const Call& call);

// Does what the default stream was given.
void FinishDefaultStream();

// Whether somebody captures it.
bool IsCaptured(cudaStream_t stream);

// Whether both addresses are what the kind of the copy says, with so many bytes.
bool AreCopied(const Call& call, const void* to, const void* from, int64_t bytes,
               cudaMemcpyKind kind);

// Hands over work that takes so long on the device; done when the stream is waited for. An error
// where there is no such stream.
cudaError_t Enqueue(const Call& call, cudaStream_t stream, double microseconds,
                    std::function<void()> work);

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_RUNTIME_H_
