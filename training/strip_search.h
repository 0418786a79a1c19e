// Steps in strips: which segments of a model a step makes tile by tile, on the way to the loss and
// back, so that it fits into a budget.
#ifndef ASHLAR_TRAINING_STRIP_SEARCH_H_
#define ASHLAR_TRAINING_STRIP_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/plan_request.h"
#include "training/recompute_search.h"
#include "training/training_graph.h"

namespace ashlar {

struct FittedTraining {
  FittedStep step;
  TileSpec tiles;  // empty: none
};

// As FitStep, of the step in one piece and in tiles: of the plans that fit the one that is expected
// to be fastest; 0: the one of the least arena. In tiles only where convolutions would have to be
// made again otherwise. `graph` is what MakeTrainingGraph makes of these options, which ask for no
// tiles and nothing made again.
absl::StatusOr<FittedTraining> FitTraining(const TrainingGraph& graph,
                                           const TrainingOptions& options, int64_t budget,
                                           double max_extra_flops, const PlanRequest& request);

struct TrainingPoint {
  TileSpec tiles;  // empty: none
  RecomputePoint recompute;
};

// RecomputeFrontier of the step in one piece, and behind it points in tiles that need less memory
// than all before.
absl::StatusOr<std::vector<TrainingPoint>> TrainingFrontier(const TrainingGraph& graph,
                                                            const TrainingOptions& options,
                                                            double max_extra_flops);

// The graphs of a point.
absl::StatusOr<TrainingGraph> TrainingGraphOf(const TrainingGraph& graph, TrainingOptions options,
                                              const TrainingPoint& point);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_STRIP_SEARCH_H_
