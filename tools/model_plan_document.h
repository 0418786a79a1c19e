// The document that `plan --json` writes of a model.
#ifndef ASHLAR_TOOLS_MODEL_PLAN_DOCUMENT_H_
#define ASHLAR_TOOLS_MODEL_PLAN_DOCUMENT_H_

#include "runtime/plan/planned_graph.h"
#include "tools/json_output.h"
#include "tools/peak.h"

namespace ashlar {

// Pools, arena, times, passes, workspaces and order.
void AddModelPlan(const PlannedGraph& planned, const PeakReport& peak, Json& document);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_MODEL_PLAN_DOCUMENT_H_
