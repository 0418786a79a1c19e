// The steps of a session: the kernels of a plan in its order, with their memory.
#ifndef ASHLAR_RUNTIME_SESSION_STEPS_H_
#define ASHLAR_RUNTIME_SESSION_STEPS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/kernel.h"
#include "runtime/session/binder.h"
#include "runtime/session/executable.h"
#include "runtime/session/state_memory.h"

namespace ashlar {

struct Step {
  const Kernel* kernel = nullptr;  // null: nothing to execute
  std::unique_ptr<KernelState> state;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  KernelArgs args;

  absl::Status Run() {
    return kernel == nullptr ? absl::OkStatus() : kernel->Run(args, state.get());
  }
};

// The memory and the stream of a session's steps.
struct StepSite {
  void* arena = nullptr;
  Stream* stream = nullptr;  // null on the host
  const StateMemory& state;
};

// Makes the steps, by position in the order. `binder` updates the pointers to the caller's tensors.
// The steps stay valid when the vector is moved.
absl::StatusOr<std::vector<Step>> MakeSteps(const Executable& executable, const StepSite& site,
                                            Binder& binder);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_STEPS_H_
