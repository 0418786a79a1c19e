// Loss functions.
#ifndef ASHLAR_TRAINING_LOSS_H_
#define ASHLAR_TRAINING_LOSS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph_builder.h"

namespace ashlar {

enum class Loss {
  kCrossEntropy,  // mean over the images of -log of the softmax at the label
  kMeanSquare,    // mean over all elements of the squared difference to the label
};

// Parses "cross-entropy" or "mse".
absl::StatusOr<Loss> ParseLoss(absl::string_view name);
absl::string_view Name(Loss loss);

// Returns the type of the labels for a model's output: Int32 {N} for logits {N, K}, or the output's
// own type. InvalidArgument if the output does not suit the loss.
absl::StatusOr<TensorType> LabelsFor(Loss loss, const TensorType& output);

// Adds the loss, of shape {1}.
absl::StatusOr<int> AddLoss(GraphBuilder& builder, Loss loss, int output, int labels);

// Adds a reshape of `var`; returns `var` itself if it already has that shape.
absl::StatusOr<int> AddReshape(GraphBuilder& builder, int var, const Shape& shape);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_LOSS_H_
