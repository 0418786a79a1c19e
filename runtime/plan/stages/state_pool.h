// The pool of states of a plan: one block of memory that lives as long as a session. All states lie
// in it row-major, one after the other in the order of the graph.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_STATE_POOL_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_STATE_POOL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

struct StateEntry {
  std::string name;  // of its node
  int var = 0;       // the output of the node
  TensorType type;
  int64_t offset = 0;  // in the pool, bytes
};

struct StatePool {
  std::vector<StateEntry> entries;
  int64_t bytes = 0;  // of the pool

  // Return null if no state has that name or var.
  const StateEntry* Find(absl::string_view name) const;
  const StateEntry* Of(int var) const;
};

// Plans the states that a scheduled node reads or updates. Offsets are multiples of `alignment`.
StatePool PlanStates(const Graph& graph, const StorageModel& model, int64_t alignment);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_STATE_POOL_H_
