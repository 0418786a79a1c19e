// Runs an executable in an arena.
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
  // Bytes mapped after the planned arena, to measure whether a run leaves it.
  int64_t arena_slack = 0;
  int64_t state_slack = 0;   // the same for the pool of states
  int64_t window_slack = 0;  // the same for streamed weights, of an executable's first session
  // On devices with streams: enqueue a run as one recording instead of step by step.
  bool record = true;
  // An arena that is shared with other sessions of the executable (see StartAfter), at a multiple
  // of PlannedGraph::arena_alignment; null: the session's own, with the slack.
  std::shared_ptr<DeviceMemory> arena = nullptr;
  // States that are shared with sessions of other plans; null: this plan's own, with initial
  // values.
  std::shared_ptr<StateMemory> state = nullptr;
  // The caller's stream for the work (StreamUse::callers), which must outlive the session; null:
  // the session's own.
  void* stream = nullptr;
};

// A session. Not thread-safe; different sessions of one executable may run side by side.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::shared_ptr<const Executable> executable, const SessionOptions& options = {});

  // Bind the caller's row-major tensors. They must stay until others are bound; `bytes` must be the
  // tensor's. NotFound names the existing inputs or outputs. On devices with memory of their own,
  // the host copies tensors in Start and Wait. The device copies tensors in pinned memory
  // (Device::Pin) directly, at any time between the two.
  absl::Status BindInput(absl::string_view name, const void* data, int64_t bytes);
  absl::Status BindOutput(absl::string_view name, void* data, int64_t bytes);
  // The same for tensors in device memory, which are not copied. On the host there is no
  // difference. Inputs must be complete when a run starts, or be computed by work that precedes the
  // run in its stream (WaitForEvent included). The first run after a change of address takes
  // longer, because the recording is changed.
  absl::Status BindDeviceInput(absl::string_view name, const void* data, int64_t bytes);
  absl::Status BindDeviceOutput(absl::string_view name, void* data, int64_t bytes);

  // Returns the arena address for a donated input (PlanTarget::release_input); it is always the
  // same. Call this before every run, which overwrites the input; otherwise the run fails with
  // FailedPrecondition. If a tensor is bound instead, every run copies it there. NotFound names the
  // inputs; InvalidArgument if the input is not donated.
  absl::StatusOr<void*> PlaceOfInput(absl::string_view name) { return binder_.PlaceOf(name); }

  // Executes all steps. FailedPrecondition while a tensor is not bound. From the second run on it
  // allocates nothing.
  absl::Status Run();
  // The same, and calls `listener` for every step of the order, including steps that execute
  // nothing. On devices with streams it runs a second time to measure the device's times, with a
  // separate recording.
  absl::Status Run(RunListener& listener);

  // Returns the seconds that the steps of one run take on the clock of a device with streams. It is
  // the mean of `repetitions` runs, which are recorded without the copies of the caller's tensors
  // and enqueued back to back. Unimplemented on the host.
  absl::StatusOr<double> SecondsOfSteps(int repetitions);

  // A run in two halves, so that the host can do other work in between. Start enqueues a run, and
  // may be called again only after Wait, which returns when the outputs are complete. On the host,
  // Start does all the work.
  absl::Status Start();
  // For sessions that share an arena: the steps begin after the steps of the last run of `previous`
  // are complete. The copies do not wait for them.
  absl::Status StartAfter(Session& previous);
  absl::Status Wait();
  // Use the caller's events (Stream::WaitForEvent): runs started from now on begin after `event` of
  // WaitForEvent; RecordEvent records after the runs started so far. Unimplemented on the host.
  absl::Status WaitForEvent(void* event);
  absl::Status RecordEvent(void* event);

  // Read and write the plan's states between runs: StateMemory::Read and Write.
  absl::StatusOr<HostTensor> ReadState(absl::string_view name) const { return state_->Read(name); }
  absl::Status WriteState(absl::string_view name, const HostTensor& value) {
    return state_->Write(name, value);
  }
  // Writes their first values.
  absl::Status ResetStates() { return state_->Reset(executable_->planned()); }
  const std::shared_ptr<StateMemory>& state() const { return state_; }

  const Executable& executable() const { return *executable_; }
  // Bytes of device memory that this session holds.
  int64_t device_bytes() const {
    return arena_->bytes() + state_->memory().bytes() + tensor_bytes();
  }
  // The part of device_bytes() for the caller's tensors. As much host memory is used for staging.
  int64_t tensor_bytes() const { return runner_->tensor_bytes(); }
  // On devices with streams: the reason if runs are unintentionally enqueued step by step.
  absl::Status recording_status() const { return runner_->recording_status(); }
  // The address in device memory to which kernels write output `index` of the graph. Null until it
  // is bound.
  const void* output_data(int index) const { return binder_.outputs()[index].data; }
  // The arena with its slack.
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
