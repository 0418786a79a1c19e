// Our own kernels, compiled for the host, on emulated streams.
#include <utility>

#include "tests/emulated_gpu/emulation.h"
#include "tests/emulated_gpu/runtime.h"
#include "tests/runtime/cuda/emulation/grid.h"

namespace ashlar::testing {

void EnqueueOn(void* stream, std::function<void()> work) {
  const emulated::Call call("cudaLaunchKernelEx");
  // An error of the stream is noted as misuse.
  static_cast<void>(emulated::Enqueue(call, static_cast<cudaStream_t>(stream), 5, std::move(work)));
}

}  // namespace ashlar::testing
