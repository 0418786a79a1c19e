#include "runtime/session/state_memory.h"

#include <utility>
#include <vector>

#include "graph/status.h"
#include "runtime/device/borrowed_memory.h"

namespace ashlar {

absl::StatusOr<std::shared_ptr<StateMemory>> StateMemory::Create(const PlannedGraph& planned,
                                                                 int64_t slack) {
  std::shared_ptr<StateMemory> states(new StateMemory(*planned.device, planned.state));
  const int64_t bytes = planned.state.bytes + slack;
  states->memory_ = std::make_unique<BorrowedMemory>(nullptr, nullptr, 0);
  if (bytes > 0) {
    ASHLAR_ASSIGN_OR_RETURN(states->memory_, planned.device->Allocate(bytes));
  }
  ASHLAR_RETURN_IF_ERROR(states->Reset(planned));
  return states;
}

absl::Status StateMemory::Reset(const PlannedGraph& planned) {
  for (const StateEntry& entry : planned.state.entries) {
    const OperatorNode& node = planned.graph.node(planned.graph.var(entry.var).producer);
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> first, node.op->Evaluate({}));
    ASHLAR_RETURN_IF_ERROR(Annotate(Write(entry.name, first[0]), Describe(node)));
  }
  return absl::OkStatus();
}

absl::Status StateMemory::CheckHolds(const StatePool& states) const {
  for (const StateEntry& wanted : states.entries) {
    const StateEntry* const entry = pool_.Find(wanted.name);
    if (entry != nullptr && entry->type == wanted.type) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the state '", wanted.name, "' is ",
                     entry == nullptr ? "not there" : entry->type.ToString(), ", expected ",
                     wanted.type.ToString()));
  }
  return absl::OkStatus();
}

char* StateMemory::Find(absl::string_view name) const {
  const StateEntry* const entry = pool_.Find(name);
  return entry == nullptr ? nullptr : At(*entry);
}

absl::StatusOr<const StateEntry*> StateMemory::Entry(absl::string_view name) const {
  if (const StateEntry* const entry = pool_.Find(name)) return entry;
  return absl::NotFoundError(
      absl::StrCat("no state '", name, "' among ", pool_.entries.size(), " states"));
}

absl::StatusOr<HostTensor> StateMemory::Read(absl::string_view name) const {
  ASHLAR_ASSIGN_OR_RETURN(const StateEntry* const entry, Entry(name));
  HostTensor value = HostTensor::Zeros(entry->type.dtype, entry->type.shape);
  ASHLAR_RETURN_IF_ERROR(device_.CopyOut(value.mutable_raw(), At(*entry), value.bytes()));
  return value;
}

absl::Status StateMemory::Write(absl::string_view name, const HostTensor& value) {
  ASHLAR_ASSIGN_OR_RETURN(const StateEntry* const entry, Entry(name));
  const TensorType type{value.dtype(), value.shape()};
  if (!(type == entry->type)) {
    return absl::InvalidArgumentError(
        absl::StrCat("state '", name, "' is ", entry->type.ToString(), ", not ", type.ToString()));
  }
  return device_.CopyIn(At(*entry), value.raw(), value.bytes());
}

}  // namespace ashlar
