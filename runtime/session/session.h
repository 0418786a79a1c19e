// Runs an executable in an arena of its own.
#ifndef ASHLAR_RUNTIME_SESSION_SESSION_H_
#define ASHLAR_RUNTIME_SESSION_SESSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/session/executable.h"

namespace ashlar {

// Seconds from an origin that all steps of a run share.
struct StepTime {
  double start = 0;
  double end = 0;
};

// Hears what a run does. `step` is a position in the schedule's order.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void OnRunBegin() {}
  virtual void OnStepBegin(int /*step*/) {}
  virtual void OnStepEnd(int /*step*/) {}
  virtual void OnRunEnd() {}
  // After the run, from devices with streams: when each step's work was done, on the device's
  // clock.
  virtual void OnDeviceTimes(absl::Span<const StepTime> /*steps*/) {}
  // Whether it looks at memory: each step's work is then done before OnStepEnd.
  virtual bool reads_memory() const { return false; }
};

struct SessionOptions {
  // Bytes mapped behind the planned arena, for measuring whether a run leaves it.
  int64_t arena_slack = 0;
  // On devices with streams: hand a run over as one recording instead of step by step.
  bool record = true;
  // An arena that other sessions of the executable use, too (see StartAfter); null: one of its own,
  // with the slack.
  std::shared_ptr<DeviceMemory> arena = nullptr;
};

// Not thread-safe itself; sessions of one executable may run side by side.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Create(
      std::shared_ptr<const Executable> executable, const SessionOptions& options = {});

  // The caller's row-major tensors. They must stay until they are bound anew; `bytes` must be the
  // tensor's. NotFound names the inputs or outputs that there are.
  absl::Status BindInput(absl::string_view name, const void* data, int64_t bytes);
  absl::Status BindOutput(absl::string_view name, void* data, int64_t bytes);
  // The same with tensors in the device's memory, which a run then neither copies in nor out. On
  // the host there is no difference. The first run after a change of address goes step by step.
  absl::Status BindDeviceInput(absl::string_view name, const void* data, int64_t bytes);
  absl::Status BindDeviceOutput(absl::string_view name, void* data, int64_t bytes);

  // Executes all steps. FailedPrecondition while something is unbound. From the second run on it
  // allocates nothing.
  absl::Status Run();
  // The same, and tells `listener` about every step of the order, those that execute nothing too.
  // On devices with streams it runs once more for the device's times, in a recording of its own.
  absl::Status Run(RunListener& listener);

  // Run in two halves, so that the host can do other things in between: Start hands a run over and
  // may not be called again before Wait, which returns when the outputs are there. On the host
  // Start does it all.
  absl::Status Start();
  // For sessions that share an arena: the steps begin once the device is done with those of the run
  // that `previous` was given last. The copies do not wait for them.
  absl::Status StartAfter(Session& previous);
  absl::Status Wait();

  const Executable& executable() const { return *executable_; }
  // Bytes of the device's memory that this session holds.
  int64_t device_bytes() const { return arena_->bytes() + tensor_bytes(); }
  // Of these, of the caller's tensors on the device. As much of the host's memory is staging.
  int64_t tensor_bytes() const { return tensors_ == nullptr ? 0 : tensors_->bytes(); }
  // On devices with streams: why runs are handed over step by step although they should not.
  const absl::Status& recording_status() const { return recording_status_; }
  // Where kernels write output `index` of the graph: the device's memory. Null until it is bound.
  const void* output_data(int index) const { return bound_outputs_[index].data; }
  // The arena and its slack.
  DeviceMemory& arena() { return *arena_; }

 private:
  struct Step {
    const Kernel* kernel = nullptr;  // null: nothing to execute
    std::unique_ptr<KernelState> state;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    void* workspace = nullptr;
    KernelArgs args;
  };
  // Where a caller's tensor is used: the pointer to set, and the offset inside the tensor.
  struct InputSlot {
    const void** slot;
    int64_t offset;
  };
  struct OutputSlot {
    void** slot;
    int64_t offset;
  };
  struct Bound {
    bool done = false;
    std::vector<InputSlot> inputs;
    std::vector<OutputSlot> outputs;
    void* data = nullptr;  // where kernels find it
    // Devices with streams only: where the tensor lies in tensors_ and staging_, and the caller's
    // own memory on the host (null where the caller bound the device's).
    int64_t offset = 0;
    int64_t bytes = 0;
    const void* host_input = nullptr;
    void* host_output = nullptr;
  };

  explicit Session(std::shared_ptr<const Executable> executable)
      : executable_(std::move(executable)) {}
  absl::Status Prepare(const SessionOptions& options);
  void ResolveInput(int node, int input, const void** slot);
  void ResolveOutput(int var, void** slot);
  absl::Status CheckBound() const;
  static void PointTo(Bound& bound, void* data);

  // On devices with streams.
  absl::Status PrepareStream(Device& device);
  void StageInputs();
  absl::Status EnqueueCopiesIn();
  absl::Status EnqueueCopiesOut();
  // What the stream has recorded, of the present bindings; kMarkedRun: with marks around each step.
  enum class Recording { kNone, kRun, kMarkedRun };
  absl::Status EnqueueSteps(RunListener* listener, bool marked = false);
  absl::Status EnqueueStep(size_t position, RunListener* listener, bool marked);
  absl::Status Enqueue(RunListener* listener, bool marked = false);
  absl::Status HandOver(Session* previous);
  void Record(Recording what);
  absl::Status StartOnStream(Session* previous);
  absl::Status WaitOnStream();
  absl::Status RunOnStream(RunListener& listener);
  absl::Status ReplayMarked();
  absl::Status ReportDeviceTimes(RunListener& listener);

  template <typename Listener>
  absl::Status Loop(Listener& listener);

  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<DeviceMemory> arena_;
  std::vector<Step> steps_;                          // by position in the order
  std::vector<Bound> bound_inputs_, bound_outputs_;  // as Graph::inputs(), outputs()

  std::unique_ptr<DeviceMemory> tensors_, staging_;  // the caller's tensors, on the device and here
  std::unique_ptr<Stream> stream_;  // null on the host; goes before the memory that it works on
  bool record_ = true;
  bool shares_arena_ = false;
  Recording recording_ = Recording::kNone;
  absl::Status recording_status_;  // why there is none
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_SESSION_H_
