// Images whose channels come last outside of the graph: a permutation of the caller's {N,H,W,C} to
// {N,C,H,W} is the same bytes in the format NHWC, so that it is a view if the operators that read
// it take that format. So is the permutation of a result.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_CHANNELS_LAST_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_CHANNELS_LAST_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

class Device;

// Stores the images between a permutation and its neighbours in NHWC if the device's kernels for
// all of these take it (ChannelsLast).
absl::StatusOr<Graph> ViewChannelsLast(Graph graph, const Device& device);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_CHANNELS_LAST_H_
