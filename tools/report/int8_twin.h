// Compares a model's plan in floats with the plan of its 8-bit version.
#ifndef ASHLAR_TOOLS_REPORT_INT8_TWIN_H_
#define ASHLAR_TOOLS_REPORT_INT8_TWIN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"
#include "tools/json_output.h"
#include "tools/model.h"

namespace ashlar {

// Returns {"arena": {"planned_bytes"}, "weights": ..., "input": ..., "output": ...}.
Json PoolsOfPlan(const PlannedGraph& planned);

// Plans the 8-bit version of `graph` by `request`, without numbered tiles, which refer to another
// graph.
absl::StatusOr<PlannedModel> PlanInt8Twin(const Graph& graph, PlanRequest request);

// Formats pools and the total of a process, side by side.
std::string TwinTable(const PlannedModel& floats, const PlannedModel& bytes);
// Returns the pools and the total of the 8-bit version, and the number of its operators that
// compute in 8 bits.
Json TwinDocument(const PlannedModel& twin);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_INT8_TWIN_H_
