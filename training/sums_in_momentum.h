// Gradients of weights that are never held: they are added to the momentum as they are made.
#ifndef ASHLAR_TRAINING_SUMS_IN_MOMENTUM_H_
#define ASHLAR_TRAINING_SUMS_IN_MOMENTUM_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// The step with MatrixMulUpdate and ConvolutionFilterUpdate in the place of products and gradients
// of filters that nobody but an SgdUpdate with momentum reads. Values are the same but for the
// rounding of sums. Nesterov's momentum reads a gradient twice, and stays as it is.
absl::StatusOr<Graph> SumGradientsInMomentum(const Graph& step);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_SUMS_IN_MOMENTUM_H_
