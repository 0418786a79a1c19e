// Computes exact peaks of tilings by rewriting the whole graph, for graphs that are small enough to
// try many.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_EXACT_TILINGS_H_
#define ASHLAR_RUNTIME_PLAN_TILING_EXACT_TILINGS_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/plan/tiling/tiling_ways.h"

namespace ashlar {

// Computes the exact peak of each tiling. Unlike the estimates of single segments, it knows that in
// a batch slice an operator computes only as much as the next one reads. Omits specs that the graph
// cannot be tiled by or that exceed the limits.
std::vector<Tiling> ExactTilings(const TilingProblem& problem, absl::Span<const TileSpec> specs);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_EXACT_TILINGS_H_
