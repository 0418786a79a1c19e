// Rewrites that shrink the tensors saved for the backward pass. They run before recomputation is
// planned.
#ifndef ASHLAR_TRAINING_KEPT_FOR_GRADIENTS_H_
#define ASHLAR_TRAINING_KEPT_FOR_GRADIENTS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Saves for max pooling the position of each maximum (a byte each) instead of the image, if nothing
// else in the backward pass reads it. A ReLU directly before such a pooling moves after it: values
// and gradients are the same, but only the smaller tensor is saved.
absl::StatusOr<Graph> KeepPoolingIndices(const Graph& step);

// Recomputes activation masks from the input of a batch norm. Applies to a ReLU, or a clamp at 0,
// directly after a batch norm that uses the statistics of the batch; then nothing is saved for the
// mask.
absl::StatusOr<Graph> MaskFromNormInputs(const Graph& step);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_KEPT_FOR_GRADIENTS_H_
