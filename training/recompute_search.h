// How far the arena of a step falls if more of it is made twice.
#ifndef ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_
#define ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/plan_request.h"
#include "training/recompute.h"

namespace ashlar {

struct RecomputePoint {
  RecomputeSpec spec;
  // Live bytes of the arena at most, in the order of RecomputeStep and without workspaces: a
  // planned arena may be a little smaller or larger.
  int64_t peak_bytes = 0;
  // What is made again by operators that are not cheap, over what such operators of the step
  // compute.
  double extra_flops = 0;
};

// From nothing made again to as much as `max_extra_flops` allows: each point needs less memory and
// more operations than the one before. Deterministic.
absl::StatusOr<std::vector<RecomputePoint>> RecomputeFrontier(const Graph& step,
                                                              double max_extra_flops);

struct FittedStep {
  Graph graph;
  RecomputePoint point;
  int64_t arena_bytes = 0;  // as planned
};

// The point of least operations whose plan has an arena of at most `budget` bytes; 0: the one of
// the least arena. `request` asks for no tiles and no budget. ResourceExhausted, saying what is the
// least, where none fits.
absl::StatusOr<FittedStep> FitStep(const Graph& step, int64_t budget, double max_extra_flops,
                                   const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_
