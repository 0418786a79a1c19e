// Tiles in which a graph was measured to be faster than as it is: the part of a record of kernels
// (KernelRecord::tiles) that is about graphs.
#ifndef ASHLAR_RUNTIME_PLAN_RECORDED_TILES_H_
#define ASHLAR_RUNTIME_PLAN_RECORDED_TILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/tiling/tile_spec.h"
#include "runtime/plan/plan_request.h"

namespace ashlar {

// A graph before the passes as a record names it: how many operators, a hash of them (FNV-1a by
// Fowler, Noll and Vo) without the values of constants, and what decides which passes and which
// kernels it gets: "191 operators, 5f3a0c11d2aa90e7, Float32, all, exact".
std::string TilesKey(const Graph& graph, const Wishes& wishes, const Means& means);

// The text of an option: a spec, or "none", which is empty: in no tiles, whatever is on record.
absl::StatusOr<TileSpec> ParseTilesOrNone(absl::string_view text);

// Those on record for a graph before the passes and so many threads. Empty where there are none,
// where the request does not wish for them (Wishes::tuned_tiles), and where it asks for tiles of
// its own or for a budget.
TileSpec TilesOnRecord(const Graph& graph, const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORDED_TILES_H_
