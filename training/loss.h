// Losses, which a step of training makes less.
#ifndef ASHLAR_TRAINING_LOSS_H_
#define ASHLAR_TRAINING_LOSS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace ashlar {

enum class Loss {
  kCrossEntropy,  // mean over the images of -log of the softmax at the label
  kMeanSquare,    // mean over all elements of the squared difference to the label
};

// "cross-entropy" or "mse".
absl::StatusOr<Loss> ParseLoss(absl::string_view name);
absl::string_view Name(Loss loss);

// The type of labels for an output of a model: Int32 {N} for logits {N, K}, or of the output's
// type. InvalidArgument where the output does not suit the loss.
absl::StatusOr<TensorType> LabelsFor(Loss loss, const TensorType& output);

// Adds the loss, {1}.
absl::StatusOr<int> AddLoss(GraphBuilder& builder, Loss loss, int output, int labels);

// Adds the same elements under another shape; the var itself where it has that shape.
absl::StatusOr<int> AddReshape(GraphBuilder& builder, int var, const Shape& shape);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_LOSS_H_
