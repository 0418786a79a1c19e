// The graphs of training: of a model, that of a step and that of an evaluation, over one state.
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
  // Segments of the model of which the step makes tiles, and gradients tile by tile.
  TileSpec tiles;
  bool in_parts = false;             // for MakeMicroBatches, which sums gradients of its own up
  double statistics_momentum = 0.1;  // running = (1 - this) * running + this * the batch's
};

struct TrainingGraph {
  Graph model;  // as it was given
  Parameters parameters;
  // One step. Inputs: the model's, kLabels, kRate {1}, and where UsesStep kStep {1}; output: kLoss
  // {1}. It updates the states: parameters under their names, and the optimizer's.
  Graph step;
  // By id of a node of the step that makes a part of what a node of the model makes: the id of
  // that.
  PartsOfNodes parts;
  // The model over the same states, batch norms by running statistics. Output: kLogits.
  Graph evaluation;
  std::string images;  // the model's input
  TensorType images_type, labels_type;

  static constexpr char kLabels[] = "labels", kRate[] = "learning_rate", kStep[] = "step";
  static constexpr char kLoss[] = "loss", kLogits[] = "logits";
};

// InvalidArgument where the model has several inputs or outputs, an output that the loss cannot
// read, nothing to learn, or other tiles than Tile() makes or InTiles() takes; Unimplemented,
// naming the nodes, where operators have no gradient. A softmax at the end is left out for cross
// entropy, which has its own.
absl::StatusOr<TrainingGraph> MakeTrainingGraph(Graph model, const TrainingOptions& options);

// The model with its last fully connected layer made anew for `classes` classes: weights uniform
// within 1 / sqrt(features), from `seed`. InvalidArgument where its output does not come from one,
// with at most a bias and a softmax behind it.
absl::StatusOr<Graph> WithClasses(const Graph& model, int64_t classes, uint64_t seed);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_TRAINING_GRAPH_H_
