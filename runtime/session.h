// Runs an executable in an arena of its own.
#ifndef ASHLAR_RUNTIME_SESSION_H_
#define ASHLAR_RUNTIME_SESSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/executable.h"

namespace ashlar {

// Hears what a run does. `step` is a position in the schedule's order.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void OnRunBegin() {}
  virtual void OnStepBegin(int /*step*/) {}
  virtual void OnStepEnd(int /*step*/) {}
  virtual void OnRunEnd() {}
};

struct SessionOptions {
  // Bytes mapped behind the planned arena, for measuring whether a run leaves it.
  int64_t arena_slack = 0;
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

  // Executes all steps. FailedPrecondition while something is unbound. From the second run on it
  // allocates nothing.
  absl::Status Run();
  // The same, and tells `listener` about every step of the order, those that execute nothing too.
  absl::Status Run(RunListener& listener);

  const Executable& executable() const { return *executable_; }
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
  };

  explicit Session(std::shared_ptr<const Executable> executable)
      : executable_(std::move(executable)) {}
  absl::Status Prepare(const SessionOptions& options);
  void ResolveInput(int node, int input, const void** slot);
  void ResolveOutput(int var, void** slot);
  absl::Status CheckBound() const;
  template <typename Listener>
  absl::Status Loop(Listener& listener);

  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<DeviceMemory> arena_;
  std::vector<Step> steps_;                          // by position in the order
  std::vector<Bound> bound_inputs_, bound_outputs_;  // as Graph::inputs(), outputs()
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_H_
