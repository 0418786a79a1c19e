// Computes the peak of any order from lifetimes and the planners' lower bound: a check on the
// schedulers, which share no code with it.
#ifndef ASHLAR_TESTS_RUNTIME_SCHEDULE_PEAK_OF_ORDER_H_
#define ASHLAR_TESTS_RUNTIME_SCHEDULE_PEAK_OF_ORDER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/problem/instance.h"
#include "memory/problem/lower_bound.h"
#include "runtime/schedule/lifetimes.h"

namespace ashlar::testing {

// `workspace` is bytes by node; `model` was built from `graph`.
inline absl::StatusOr<int64_t> PeakOfOrder(const Graph& graph, const StorageModel& model,
                                           absl::Span<const int> order,
                                           absl::Span<const int64_t> workspace) {
  const Lifetimes lifetimes = ComputeLifetimes(graph, model, order, workspace, /*alignment=*/1);
  const absl::StatusOr<memory::Instance> instance = memory::Instance::Create(lifetimes.problem);
  if (!instance.ok()) return instance.status();
  return memory::ComputeLowerBound(*instance).bytes;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_SCHEDULE_PEAK_OF_ORDER_H_
