// The passes over a graph, and what each of them saves.
#ifndef ASHLAR_RUNTIME_PLAN_REWRITE_H_
#define ASHLAR_RUNTIME_PLAN_REWRITE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

struct RewrittenGraph {
  Graph graph;
  std::vector<PassReport> passes;
};

// Runs the passes that the options name. `in_parts`: for tiles, which are views where images lie in
// the device's format.
absl::StatusOr<RewrittenGraph> RewriteGraph(Graph graph, const PlanningOptions& options,
                                            bool in_parts);
// Whether images lie otherwise in a graph that is executed whole.
absl::StatusOr<bool> WholeLiesOtherwise(const PlanningOptions& options);

// How tensors share memory on the options' device.
absl::StatusOr<StorageOptions> StorageFor(const PlanningOptions& options);

// Scheduled operators, without constants.
int CountOperators(const Graph& graph);

// Operations of the operators that have weights.
double WeightFlops(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REWRITE_H_
