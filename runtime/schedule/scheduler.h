// comp_seq: the order in which operators run.
#ifndef ASHLAR_RUNTIME_SCHEDULE_SCHEDULER_H_
#define ASHLAR_RUNTIME_SCHEDULE_SCHEDULER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/schedule/storage_model.h"

namespace ashlar {

struct Schedule {
  std::vector<int> order;  // scheduled nodes, each once, producers first
  // The largest sum of live arena bytes at any step of this order, workspaces included. Overwritten
  // and placed bytes count once; alignment is ignored.
  int64_t peak_bytes = 0;
  // A lower bound on the peak of all orders; 0 if the scheduler proves none.
  int64_t bound_bytes = 0;
  bool exact = false;  // no order has a smaller peak
  // MegEngine's `input_update_time` of each node in `order`; empty for other schedulers.
  std::vector<int> input_update_time;
  // Bytes of memory that the search for the order took at most, all freed.
  int64_t search_bytes = 0;
};

// In all these functions `workspace` is bytes by node, and `model` was built from `graph`.
// Dependencies are inputs that are device values, and StorageModel::runs_before.

// MegEngine's list scheduling: the smallest priority first, then the largest input_update_time
// (continue the present chain), then the largest operator id.
Schedule ScheduleMegEngine(const Graph& graph, const StorageModel& model,
                           absl::Span<const int64_t> workspace);

// Searches for the least peak. The graph is cut at nodes that every path passes. A segment is
// solved exactly by dynamic programming over sets of executed nodes, if their number allows it.
// Otherwise uses the better of a beam search and MegEngine's order, and improves ranges of it
// exactly. Among orders of equal peak, prefers one that finishes a branch before it begins the
// next. Deterministic: effort is counted, not timed.
Schedule ScheduleMemory(const Graph& graph, const StorageModel& model,
                        absl::Span<const int64_t> workspace);

// Returns the order of the nodes in the graph, as chosen by a rewrite.
Schedule ScheduleAsGiven(const Graph& graph, const StorageModel& model,
                         absl::Span<const int64_t> workspace);

// The kind of order.
enum class Order {
  kLeastPeak,  // ScheduleMemory
  kMegEngine,  // ScheduleMegEngine
  kAsGiven,    // ScheduleAsGiven
};

Schedule ScheduleNodes(Order order, const Graph& graph, const StorageModel& model,
                       absl::Span<const int64_t> workspace);

// Returns the name for users: "memory", "megengine". The order as given comes only from rewrites.
absl::string_view Name(Order order);
// Parses such a name; InvalidArgument for other names.
absl::StatusOr<Order> ParseOrder(absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_SCHEDULER_H_
