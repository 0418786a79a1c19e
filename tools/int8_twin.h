// A model's plan in floats beside that of its twin in 8 bits.
#ifndef ASHLAR_TOOLS_INT8_TWIN_H_
#define ASHLAR_TOOLS_INT8_TWIN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_request.h"
#include "runtime/plan/planned_graph.h"
#include "tools/json_output.h"
#include "tools/model.h"

namespace ashlar {

// {"arena": {"planned_bytes"}, "weights": ..., "input": ..., "output": ...}
Json PoolsOfPlan(const PlannedGraph& planned);

// The plan of the twin, as `request` says but for tiles by number, which are of another graph.
absl::StatusOr<PlannedModel> PlanInt8Twin(const Graph& graph, PlanRequest request);

// Pools, and the total of a process, side by side.
std::string TwinTable(const PlannedModel& floats, const PlannedModel& bytes);
// The twin's pools and total, and how many operators compute with 8 bits.
Json TwinDocument(const PlannedModel& twin);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INT8_TWIN_H_
