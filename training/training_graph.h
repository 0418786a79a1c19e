// The graphs of training: a step and an evaluation of a model, over the same states.
#ifndef ASHLAR_TRAINING_TRAINING_GRAPH_H_
#define ASHLAR_TRAINING_TRAINING_GRAPH_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "training/loss.h"
#include "training/optimizer.h"
#include "training/parameters.h"
#include "training/recompute.h"

namespace ashlar {

struct TrainingOptions {
  Loss loss = Loss::kCrossEntropy;
  OptimizerSpec optimizer;
  ParameterOptions parameters;
  RecomputeSpec recompute;
  // Segments of the model that the step computes in tiles, forward and backward.
  TileSpec tiles;
  bool in_parts = false;  // for MakeMicroBatches, which adds the sums of gradients itself
  double statistics_momentum = 0.1;  // running = (1 - this) * running + this * the batch's
};

struct TrainingGraph {
  Graph model;  // as given by the caller
  Parameters parameters;
  // One step. Inputs: the model's, kLabels, kRate {1}, and kStep {1} if UsesStep. Output: kLoss
  // {1}. It updates the states: parameters under their names, and the optimizer's.
  Graph step;
  // Maps the id of a tiled node of the step to the id of the model's node that it is a tile of.
  PartsOfNodes parts;
  // The model over the same states; batch norms use running statistics. Output: kLogits.
  Graph evaluation;
  std::string images;  // the model's input
  TensorType images_type, labels_type;

  static constexpr char kLabels[] = "labels", kRate[] = "learning_rate", kStep[] = "step";
  static constexpr char kLoss[] = "loss", kLogits[] = "logits";
};

// Builds the graphs of training. InvalidArgument if the model has several inputs or outputs, if the
// loss cannot read its output, or if nothing is left to learn. InvalidArgument if Tile() or
// InTiles() refuses the tiles. Unimplemented, naming the nodes, if operators have no gradient. A
// final softmax is left out for cross entropy, which includes one.
absl::StatusOr<TrainingGraph> MakeTrainingGraph(Graph model, const TrainingOptions& options);

// Returns the model with a new last fully connected layer for `classes` classes: weights uniform
// within 1 / sqrt(features), from `seed`. InvalidArgument if the output does not come from such a
// layer, followed by at most a bias and a softmax.
absl::StatusOr<Graph> WithClasses(Graph model, int64_t classes, uint64_t seed);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_TRAINING_GRAPH_H_
