// Adds gradients of weights to the momentum as they are computed, so that they are never stored.
#ifndef ASHLAR_TRAINING_SUMS_IN_MOMENTUM_H_
#define ASHLAR_TRAINING_SUMS_IN_MOMENTUM_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Returns the step with MatrixMulUpdate and ConvolutionFilterUpdate in place of products and filter
// gradients that only an SgdUpdate with momentum reads. Values are the same, except for the
// rounding of sums. Nesterov's momentum reads a gradient twice, and is not changed.
absl::StatusOr<Graph> SumGradientsInMomentum(const Graph& step);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_SUMS_IN_MOMENTUM_H_
