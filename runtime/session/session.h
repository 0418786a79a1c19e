// Runs an executable in an arena of its own.
#ifndef ASHLAR_RUNTIME_SESSION_SESSION_H_
#define ASHLAR_RUNTIME_SESSION_SESSION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/session/binder.h"
#include "runtime/session/executable.h"
#include "runtime/session/run_listener.h"
#include "runtime/session/runner.h"
#include "runtime/session/state_memory.h"

namespace ashlar {

struct SessionOptions {
  // Bytes mapped behind the planned arena, for measuring whether a run leaves it.
  int64_t arena_slack = 0;
  int64_t state_slack = 0;  // the same, behind the pool of states
  // On devices with streams: hand a run over as one recording instead of step by step.
  bool record = true;
  // An arena that other sessions of the executable use, too (see StartAfter); null: one of its own,
  // with the slack.
  std::shared_ptr<DeviceMemory> arena = nullptr;
  // States that sessions of other plans use, too; null: this plan's own, as they are at first.
  std::shared_ptr<StateMemory> state = nullptr;
  // A stream of the caller's that takes the work (StreamUse::callers), which must outlive the
  // session; null: one of the session's own.
  void* stream = nullptr;
};

// Not thread-safe itself; sessions of one executable may run side by side.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::shared_ptr<const Executable> executable, const SessionOptions& options = {});

  // The caller's row-major tensors. They must stay until they are bound anew; `bytes` must be the
  // tensor's. NotFound names the inputs or outputs that there are. On devices with memory of their
  // own a tensor is copied by the host while a run is started or waited for; one in memory that was
  // pinned before (Device::Pin) is copied by the device, at any time in between, from its place.
  absl::Status BindInput(absl::string_view name, const void* data, int64_t bytes);
  absl::Status BindOutput(absl::string_view name, void* data, int64_t bytes);
  // The same with tensors in the device's memory, which a run then neither copies in nor out. On
  // the host there is no difference. They are complete when a run is started, or made by work that
  // the run's stream was given or told to wait for before. The first run after a change of address
  // takes longer: what is recorded is changed.
  absl::Status BindDeviceInput(absl::string_view name, const void* data, int64_t bytes);
  absl::Status BindDeviceOutput(absl::string_view name, void* data, int64_t bytes);

  // Where the caller writes an input that is given up (Wishes::release_input), in the arena; always
  // the same place. What is written there is for the next run alone, of which nothing is left: this
  // is to be called before every run, which else fails with FailedPrecondition. A tensor of the
  // caller's that is bound instead is copied there by every run. NotFound names the inputs;
  // InvalidArgument where the input is not given up.
  absl::StatusOr<void*> PlaceOfInput(absl::string_view name) { return binder_.PlaceOf(name); }

  // Executes all steps. FailedPrecondition while something is unbound. From the second run on it
  // allocates nothing.
  absl::Status Run();
  // The same, and tells `listener` about every step of the order, the steps that execute nothing
  // too. On devices with streams it runs once more for the device's times, in a recording of its
  // own.
  absl::Status Run(RunListener& listener);

  // On a device with streams, seconds that the steps of one run take on its clock: the mean of so
  // many repetitions, recorded without the caller's tensors' copies and handed over back to back.
  // Unimplemented on the host.
  absl::StatusOr<double> SecondsOfSteps(int repetitions);

  // Run in two halves, so that the host can do other things in between: Start hands a run over and
  // may not be called again before Wait, which returns when the outputs are there. On the host
  // Start does it all.
  absl::Status Start();
  // For sessions that share an arena: the steps begin once the device is done with those of the run
  // that `previous` was given last. The copies do not wait for them.
  absl::Status StartAfter(Session& previous);
  absl::Status Wait();
  // Events of the caller's (Stream::WaitForEvent): the runs that are started from now on begin
  // after it; it is recorded behind those that were. Unimplemented on the host.
  absl::Status WaitForEvent(void* event);
  absl::Status RecordEvent(void* event);

  // The states that the plan has, between runs: StateMemory::Read and Write.
  absl::StatusOr<HostTensor> ReadState(absl::string_view name) const { return state_->Read(name); }
  absl::Status WriteState(absl::string_view name, const HostTensor& value) {
    return state_->Write(name, value);
  }
  const std::shared_ptr<StateMemory>& state() const { return state_; }

  const Executable& executable() const { return *executable_; }
  // Bytes of the device's memory that this session holds.
  int64_t device_bytes() const {
    return arena_->bytes() + state_->memory().bytes() + tensor_bytes();
  }
  // Of these, of the caller's tensors on the device. As much of the host's memory is staging.
  int64_t tensor_bytes() const { return runner_->tensor_bytes(); }
  // On devices with streams: why runs are handed over step by step although they should not.
  absl::Status recording_status() const { return runner_->recording_status(); }
  // Where kernels write output `index` of the graph: the device's memory. Null until it is bound.
  const void* output_data(int index) const { return binder_.outputs()[index].data; }
  // The arena and its slack.
  DeviceMemory& arena() { return *arena_; }

 private:
  explicit Session(std::shared_ptr<const Executable> executable)
      : executable_(std::move(executable)),
        binder_(executable_->graph(), *executable_->planned().device) {}
  absl::Status Prepare(const SessionOptions& options);
  absl::Status NoStreams() const;
  absl::Status Bind(Binder::Side side, absl::string_view name, void* data, int64_t bytes,
                    Binder::Memory memory);

  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<DeviceMemory> arena_;
  std::shared_ptr<StateMemory> state_;
  Binder binder_;
  std::unique_ptr<Runner> runner_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_SESSION_H_
