// The passes over a graph, and the savings of each.
#ifndef ASHLAR_RUNTIME_PLAN_REWRITE_H_
#define ASHLAR_RUNTIME_PLAN_REWRITE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/passes/pass.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

struct RewrittenGraph {
  Graph graph;
  std::vector<PassReport> passes;
};

struct RewriteOptions {
  bool tiled = false;  // for tiles, which are views where images lie in the device's format
  bool measure_passes = false;  // Checks
};

// Runs the passes that `means` name.
absl::StatusOr<RewrittenGraph> RewriteGraph(Graph graph, const Wishes& wishes, const Means& means,
                                            const RewriteOptions& options = {});

// How tensors share memory on a device.
StorageOptions StorageOn(const Device& device, const Wishes& wishes, const Means& means);

// Scheduled operators, without constants.
int CountOperators(const Graph& graph);

// Operations of the operators that have weights.
double WeightFlops(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REWRITE_H_
