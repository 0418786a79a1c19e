// comp_seq: the order in which operators run.
#ifndef ASHLAR_RUNTIME_SCHEDULE_SCHEDULER_H_
#define ASHLAR_RUNTIME_SCHEDULE_SCHEDULER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

struct Schedule {
  std::vector<int> order;  // scheduled nodes, each once, producers first
  // The largest sum of live arena bytes at any step of this order, workspaces included; overwritten
  // and placed bytes counted once, alignment left out.
  int64_t peak_bytes = 0;
  // No order has a lower peak than this; 0 where the scheduler proves nothing.
  int64_t bound_bytes = 0;
  bool exact = false;  // peak_bytes is the least there is
  // MegEngine's `input_update_time` of each node in `order`; empty for other schedulers.
  std::vector<int> input_update_time;
};

// In all of these `workspace` is bytes by node; `model` was built from `graph`. Dependencies are
// inputs that are device values, and StorageModel::runs_before.

// MegEngine's list scheduling: smaller priority first, then the larger input_update_time (finish
// the chain at hand), then the larger operator id.
Schedule ScheduleMegEngine(const Graph& graph, const StorageModel& model,
                           absl::Span<const int64_t> workspace);

// Least peak. Exact by dynamic programming over sets of executed nodes where their number allows
// it, cut at nodes that every path passes; else the better of a beam search and MegEngine's order,
// with stretches of it made exact. Among orders of equal peak, one that finishes a branch before it
// begins the next. Deterministic: the effort is limited by counting, not by a clock.
Schedule ScheduleMemory(const Graph& graph, const StorageModel& model,
                        absl::Span<const int64_t> workspace);

// The order in which the nodes stand in the graph: that of a rewrite which chose it.
Schedule ScheduleAsGiven(const Graph& graph, const StorageModel& model,
                         absl::Span<const int64_t> workspace);

// Which of these orders is wanted.
enum class Order {
  kLeastPeak,  // ScheduleMemory
  kMegEngine,  // ScheduleMegEngine
  kAsGiven,    // ScheduleAsGiven
};

Schedule ScheduleNodes(Order order, const Graph& graph, const StorageModel& model,
                       absl::Span<const int64_t> workspace);

// The names that users give them: "memory", "megengine"; the order as given comes of rewrites
// alone.
absl::string_view Name(Order order);
// InvalidArgument for other names.
absl::StatusOr<Order> ParseOrder(absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_SCHEDULER_H_
