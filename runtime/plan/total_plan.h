// Plans within a budget for the total memory of the process.
#ifndef ASHLAR_RUNTIME_PLAN_TOTAL_PLAN_H_
#define ASHLAR_RUNTIME_PLAN_TOTAL_PLAN_H_

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Returns the requested plan if it fits `request.target.total`. Otherwise returns the fastest plan
// found with smaller weights (PlanningOptions::most_weights), in tiles, or both. ResourceExhausted,
// naming the least bytes needed, if none fits. Tiles are not searched for if the budget is below
// the bytes that every plan takes. `plan` plans requests without a total (PlanGraph).
using PlanFunction =
    absl::FunctionRef<absl::StatusOr<std::unique_ptr<PlannedGraph>>(Graph, const PlanRequest&)>;
absl::StatusOr<std::unique_ptr<PlannedGraph>> PlanWithinTotal(const Graph& graph,
                                                              const PlanRequest& request,
                                                              PlanFunction plan);

// Returns bytes that every plan of a planned graph takes: the process, the caller's tensors,
// states, donated inputs, and each weight once in its smallest known form.
int64_t LeastTotal(const PlannedGraph& planned, int64_t process_bytes);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TOTAL_PLAN_H_
