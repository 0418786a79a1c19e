// The model part of the document of `plan --json`.
#ifndef ASHLAR_TOOLS_REPORT_MODEL_PLAN_DOCUMENT_H_
#define ASHLAR_TOOLS_REPORT_MODEL_PLAN_DOCUMENT_H_

#include "runtime/plan/stages/planned_graph.h"
#include "tools/json_output.h"
#include "tools/peak.h"

namespace ashlar {

// Adds pools, arena, times, passes, workspaces and order.
void AddModelPlan(const PlannedGraph& planned, const PeakReport& peak, Json& document);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_MODEL_PLAN_DOCUMENT_H_
