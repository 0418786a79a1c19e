// What gradients read, exchanged for less that says the same: rewrites of a step before it is
// decided what is made again.
#ifndef ASHLAR_TRAINING_KEPT_FOR_GRADIENTS_H_
#define ASHLAR_TRAINING_KEPT_FOR_GRADIENTS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Maxima of windows whose image nothing else on the way back reads keep where they were, a byte
// each, in the place of the image. A ReLU right in front of such windows goes behind them: the same
// values and gradients, of which only the smaller tensor is kept.
absl::StatusOr<Graph> KeepPoolingIndices(const Graph& step);

// Where a batch norm by the statistics of the batch goes back from a ReLU, or a clamp at 0, right
// behind it, what that lets through is seen from the norm's own input: nothing is kept for it.
absl::StatusOr<Graph> MaskFromNormInputs(const Graph& step);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_KEPT_FOR_GRADIENTS_H_
