// The states of a session in memory: the pool that a plan defines. Sessions of several plans, such
// as a training step and an evaluation, may share one.
#ifndef ASHLAR_RUNTIME_SESSION_STATE_MEMORY_H_
#define ASHLAR_RUNTIME_SESSION_STATE_MEMORY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

class StateMemory {
 public:
  // Creates the pool of a plan, each state with its first value. `slack` bytes after the pool are
  // for measuring whether a run leaves it.
  static absl::StatusOr<std::shared_ptr<StateMemory>> Create(const PlannedGraph& planned,
                                                             int64_t slack = 0);

  const StatePool& pool() const { return pool_; }
  DeviceMemory& memory() { return *memory_; }
  // Returns InvalidArgument unless each of these states is here, with the same type.
  absl::Status CheckHolds(const StatePool& states) const;
  // Returns the address of a state, or null if there is none with this name.
  char* Find(absl::string_view name) const;

  // Read and write a state, row-major, while no run is in progress. NotFound if there is no such
  // state; Write returns InvalidArgument for another type.
  absl::StatusOr<HostTensor> Read(absl::string_view name) const;
  absl::Status Write(absl::string_view name, const HostTensor& value);
  // Writes the first values of a plan's states.
  absl::Status Reset(const PlannedGraph& planned);

 private:
  StateMemory(Device& device, StatePool pool) : device_(device), pool_(std::move(pool)) {}
  absl::StatusOr<const StateEntry*> Entry(absl::string_view name) const;
  char* At(const StateEntry& entry) const {
    return static_cast<char*>(memory_->data()) + entry.offset;
  }

  Device& device_;
  const StatePool pool_;
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_STATE_MEMORY_H_
