// Finds trade-offs between the arena of a training step and recomputation.
#ifndef ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_
#define ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_

#include <cstdint>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/plan/request/plan_request.h"
#include "training/recompute.h"

namespace ashlar {

struct RecomputePoint {
  RecomputeSpec spec;
  // The largest live bytes of the arena in the order of RecomputeStep, without workspaces. A
  // planned arena may be a little smaller or larger.
  int64_t peak_bytes = 0;
  // Recomputed operations as a fraction of the step's, without cheap operators. In tiles it
  // includes operations that overlapping tiles compute twice.
  double extra_flops = 0;
};

// The tiles of a step.
struct TilesOfStep {
  PartsOfNodes parts;     // TrainingGraph::parts
  double operations = 0;  // StepOperations of the untiled step
};

// Returns the operations of a step, without its cheap operators.
double StepOperations(const Graph& step);

// Returns the points from no recomputation up to `max_extra_flops`. Each point needs less memory
// and more operations than the one before. Deterministic. Cancelled after a stop is requested.
absl::StatusOr<std::vector<RecomputePoint>> RecomputeFrontier(const Graph& step,
                                                              double max_extra_flops,
                                                              const TilesOfStep& tiles = {},
                                                              const std::stop_token& stop = {});

struct FittedStep {
  Graph graph;
  RecomputePoint point;
  int64_t arena_bytes = 0;  // of the plan
  double predicted_ms = 0;
};

// Finds the point of fewest operations whose planned arena is at most `budget` bytes; budget 0: the
// point with the smallest arena. `request` has no tiles and no budget. ResourceExhausted, stating
// the smallest arena, if no point fits.
absl::StatusOr<FittedStep> FitStep(const Graph& step, int64_t budget, double max_extra_flops,
                                   const PlanRequest& request, const TilesOfStep& tiles = {});

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_SEARCH_H_
