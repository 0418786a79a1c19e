// Chooses which segments of a model a training step tiles, forward and backward, so that the step
// fits into a budget.
#ifndef ASHLAR_TRAINING_STRIP_SEARCH_H_
#define ASHLAR_TRAINING_STRIP_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/request/plan_request.h"
#include "training/recompute_search.h"
#include "training/training_graph.h"

namespace ashlar {

struct FittedTraining {
  FittedStep step;
  TileSpec tiles;  // empty: not tiled
};

// FitStep over the untiled step and tiled ones. Of the plans that fit, returns the one expected to
// be fastest; budget 0: the one with the smallest arena. Tiles are tried only if convolutions would
// have to be recomputed otherwise. `graph` is MakeTrainingGraph of these options, which request
// neither tiles nor recomputation.
absl::StatusOr<FittedTraining> FitTraining(const TrainingGraph& graph,
                                           const TrainingOptions& options, int64_t budget,
                                           double max_extra_flops, const PlanRequest& request);

struct TrainingPoint {
  TileSpec tiles;  // empty: not tiled
  RecomputePoint recompute;
};

// Returns RecomputeFrontier of the untiled step, followed by tiled points that need less memory
// than all points before.
absl::StatusOr<std::vector<TrainingPoint>> TrainingFrontier(const TrainingGraph& graph,
                                                            const TrainingOptions& options,
                                                            double max_extra_flops);

// Builds the graphs of a point.
absl::StatusOr<TrainingGraph> TrainingGraphOf(const TrainingGraph& graph, TrainingOptions options,
                                              const TrainingPoint& point);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_STRIP_SEARCH_H_
