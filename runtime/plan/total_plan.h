// Plans within a budget for all that a process takes.
#ifndef ASHLAR_RUNTIME_PLAN_TOTAL_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TOTAL_PLAN_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_request.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

// The plan as it is asked for, if it fits `request.wishes.total`; else the fastest that was found
// of the kernels with smaller weights (Means::most_weights), or in tiles, or both.
// ResourceExhausted, naming the bytes that are needed at least, where none fits.
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinTotal(const Graph& graph,
                                                              const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TOTAL_PLAN_H_
