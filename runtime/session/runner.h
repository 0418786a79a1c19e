// How the steps of a session are run: on the host one after another, or by way of a stream.
#ifndef ASHLAR_RUNTIME_SESSION_RUNNER_H_
#define ASHLAR_RUNTIME_SESSION_RUNNER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/session/binder.h"
#include "runtime/session/executable.h"
#include "runtime/session/run_listener.h"
#include "runtime/session/state_memory.h"

namespace ashlar {

class Runner {
 public:
  virtual ~Runner() = default;

  // As Session has them. `previous`: see Session::StartAfter; may be null.
  virtual absl::Status Start(Runner* previous) = 0;
  virtual absl::Status Wait() = 0;
  virtual absl::Status Run(RunListener& listener) = 0;

  // As Session has it.
  virtual absl::StatusOr<double> SecondsOfSteps(int repetitions) = 0;

  // The binder has bound other addresses.
  virtual void OnRebound() {}
  // Null on the host.
  virtual Stream* stream() { return nullptr; }
  // Bytes of the device's memory for copies of the caller's tensors.
  virtual int64_t tensor_bytes() const { return 0; }
  // Why runs are handed over step by step although they should not.
  virtual absl::Status recording_status() const { return absl::OkStatus(); }
};

// The tensors and kernels of a runner; they must outlive it.
struct RunnerSite {
  const Executable& executable;
  Binder& binder;
  void* arena = nullptr;
  const StateMemory& state;
};

absl::StatusOr<std::unique_ptr<Runner>> MakeHostRunner(const RunnerSite& site);

struct StreamOptions {
  bool record = true;         // hand a run over as one recording instead of step by step
  bool shares_arena = false;  // with other sessions
  void* stream = nullptr;     // StreamUse::callers
};

absl::StatusOr<std::unique_ptr<Runner>> MakeStreamRunner(const RunnerSite& site,
                                                         const StreamOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_RUNNER_H_
