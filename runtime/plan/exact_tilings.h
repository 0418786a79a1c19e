// Tilings by the rewrite of the whole graph, for graphs that are small enough for many of them.
#ifndef ASHLAR_RUNTIME_PLAN_EXACT_TILINGS_H_
#define ASHLAR_RUNTIME_PLAN_EXACT_TILINGS_H_

#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/plan/tiling_search.h"

namespace ashlar {

// The bytes that tilings of a graph need, without estimates: inside of a batch an operator makes no
// more than the next one reads, which segments by themselves do not know. Without specs whose tiles
// the graph does not have, and those beyond the limits.
std::vector<Tiling> ExactTilings(const TilingProblem& problem, absl::Span<const TileSpec> specs);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_EXACT_TILINGS_H_
