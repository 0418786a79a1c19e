// Leaves out tiles that save nothing: a search for the smallest arena also finds segments beside
// the one that decides its size.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_NEEDLESS_TILES_H_
#define ASHLAR_RUNTIME_PLAN_TILING_NEEDLESS_TILES_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Returns a plan in tiles, without each segment (at any depth) whose removal leaves the arena
// within `bytes` and the plan no slower: the last segments first, each tried once. `graph`: before
// the passes. A plan that is already larger than `bytes` is returned as it is.
absl::StatusOr<std::unique_ptr<PlannedGraph>> WithoutNeedlessTiles(
    const Graph& graph, std::unique_ptr<PlannedGraph> planned, int64_t bytes);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_NEEDLESS_TILES_H_
