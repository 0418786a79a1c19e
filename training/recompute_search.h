// How far the arena of a step falls if more of it is made twice.
#ifndef ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_
#define ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_

#include <cstdint>
#include <stop_token>
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
  // compute; in tiles, with what these compute twice.
  double extra_flops = 0;
};

// The tiles of a step.
struct TilesOfStep {
  PartsOfNodes parts;     // as TrainingGraph has them
  double operations = 0;  // StepOperations without tiles
};

// What operators of a step compute that are not cheap.
double StepOperations(const Graph& step);

// From nothing made again to as much as `max_extra_flops` allows: each point needs less memory and
// more operations than the one before. Deterministic. Cancelled once a stop is requested.
absl::StatusOr<std::vector<RecomputePoint>> RecomputeFrontier(const Graph& step,
                                                              double max_extra_flops,
                                                              const TilesOfStep& tiles = {},
                                                              const std::stop_token& stop = {});

struct FittedStep {
  Graph graph;
  RecomputePoint point;
  int64_t arena_bytes = 0;  // as planned
  double predicted_ms = 0;
};

// The point of least operations whose plan has an arena of at most `budget` bytes; 0: the one of
// the least arena. `request` asks for no tiles and no budget. ResourceExhausted, saying what is the
// least, where none fits.
absl::StatusOr<FittedStep> FitStep(const Graph& step, int64_t budget, double max_extra_flops,
                                   const PlanRequest& request, const TilesOfStep& tiles = {});

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_
