// Computes operators with large weights in panels, so that memory need not hold all their weights
// together. Each panel is an ordinary operator; a Concat joins the panels, which most often are
// written into their places.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_PANELS_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_PANELS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Cuts operators whose constants have more than `panel_bytes`. Runs after all passes, before tiles.
absl::StatusOr<Graph> CutIntoPanels(const Graph& graph, const OperatorTable& operators,
                                    int64_t panel_bytes);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_PANELS_H_
