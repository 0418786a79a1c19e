// The interface that runs the steps of a session: on the host one after another, or through a
// stream.
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

  // The functions of Session with these names. `previous`: see Session::StartAfter; may be null.
  virtual absl::Status Start(Runner* previous) = 0;
  virtual absl::Status Wait() = 0;
  virtual absl::Status Run(RunListener& listener) = 0;

  // See Session::SecondsOfSteps.
  virtual absl::StatusOr<double> SecondsOfSteps(int repetitions) = 0;

  // Called when the binder has bound other addresses.
  virtual void OnRebound() {}
  // Null on the host.
  virtual Stream* stream() { return nullptr; }
  // Bytes of device memory for copies of the caller's tensors.
  virtual int64_t tensor_bytes() const { return 0; }
  // Returns the reason if runs are unintentionally enqueued step by step.
  virtual absl::Status recording_status() const { return absl::OkStatus(); }
};

// The parts of a session that its runner uses; they must outlive it.
struct RunnerSite {
  const Executable& executable;
  Binder& binder;
  void* arena = nullptr;
  const StateMemory& state;
};

absl::StatusOr<std::unique_ptr<Runner>> MakeHostRunner(const RunnerSite& site);

struct StreamOptions {
  bool record = true;         // enqueue a run as one recording instead of step by step
  bool shares_arena = false;  // with other sessions
  void* stream = nullptr;     // StreamUse::callers
};

absl::StatusOr<std::unique_ptr<Runner>> MakeStreamRunner(const RunnerSite& site,
                                                         const StreamOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_RUNNER_H_
