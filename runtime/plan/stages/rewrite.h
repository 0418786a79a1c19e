// Runs the passes over a graph, and reports the savings of each.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_REWRITE_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_REWRITE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/passes/pass.h"
#include "runtime/plan/stages/planned_graph.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

struct RewrittenGraph {
  Graph graph;
  std::vector<PassReport> passes;
  bool adds_quantized = true;  // Device::adds_quantized, for tiles
};

struct RewriteOptions {
  bool tiled = false;  // the graph will be tiled: tiles are views if images have the device's
                       // format
  bool measure_passes = false;  // Checks
  // Cut into the panels of this graph, a rewritten one with the same operators; null: into its own.
  const Graph* panels_as = nullptr;
};

// Runs the passes that `means` names.
absl::StatusOr<RewrittenGraph> RewriteGraph(Graph graph, const PlanTarget& target,
                                            const PlanningOptions& planning,
                                            const RewriteOptions& options = {});

// Returns the rules by which tensors share memory on a device.
StorageOptions StorageOn(const Device& device, const PlanTarget& target,
                         const PlanningOptions& planning);

// Returns the number of scheduled operators, without constants.
int CountOperators(const Graph& graph);

// Returns the operations of the operators that have weights.
double WeightFlops(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_REWRITE_H_
