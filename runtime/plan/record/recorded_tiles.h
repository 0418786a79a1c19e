// Tuned tiles: tiles that were measured to be faster than the untiled graph. They are stored by
// graph in a kernel record (KernelRecord::tiles).
#ifndef ASHLAR_RUNTIME_PLAN_RECORD_RECORDED_TILES_H_
#define ASHLAR_RUNTIME_PLAN_RECORD_RECORDED_TILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

// Returns the name of a graph before the passes in a record: "191 operators, 5f3a0c11d2aa90e7,
// Float32, all, exact". It has the number of operators and their hash, without the values of
// constants (FNV-1a by Fowler, Noll and Vo). The rest are the options that decide the passes and
// kernels.
std::string TilesKey(const Graph& graph, const PlanTarget& target, const PlanningOptions& planning);

// Returns the tuned tiles for a graph before the passes and the requested threads. Empty if there
// are none, or if the request does not ask for them (PlanTarget::tuned_tiles). Also empty if the
// request has its own tiles or a budget.
TileSpec TilesOnRecord(const Graph& graph, const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORD_RECORDED_TILES_H_
