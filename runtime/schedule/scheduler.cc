#include "runtime/schedule/scheduler.h"

#include "absl/strings/str_cat.h"
#include "runtime/schedule/arena.h"

namespace ashlar {

Schedule ScheduleAsGiven(const Graph& graph, const StorageModel& model,
                         absl::Span<const int64_t> workspace) {
  Schedule schedule;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (model.scheduled[i]) schedule.order.push_back(static_cast<int>(i));
  }
  schedule.peak_bytes = SimulatePeak(graph, model, schedule.order, workspace);
  return schedule;
}

Schedule ScheduleNodes(Order order, const Graph& graph, const StorageModel& model,
                       absl::Span<const int64_t> workspace) {
  switch (order) {
    case Order::kLeastPeak:
      return ScheduleMemory(graph, model, workspace);
    case Order::kMegEngine:
      return ScheduleMegEngine(graph, model, workspace);
    case Order::kAsGiven:
      return ScheduleAsGiven(graph, model, workspace);
  }
  return {};
}

absl::string_view Name(Order order) {
  static constexpr absl::string_view kNames[] = {"memory", "megengine", "as given"};
  return kNames[static_cast<int>(order)];
}

absl::StatusOr<Order> ParseOrder(absl::string_view name) {
  for (const Order order : {Order::kLeastPeak, Order::kMegEngine}) {
    if (name == Name(order)) return order;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown scheduler '", name, "'; expected memory or megengine"));
}

}  // namespace ashlar
