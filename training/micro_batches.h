// A step in parts: gradients of a few images at a time are summed up before the update, so that the
// memory of activations is that of a part.
#ifndef ASHLAR_TRAINING_MICRO_BATCHES_H_
#define ASHLAR_TRAINING_MICRO_BATCHES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/training_graph.h"

namespace ashlar {

struct MicroBatchGraphs {
  // TrainingGraph::step without the updates: instead it adds 1 / parts of each gradient to a state.
  // No input but images and labels.
  Graph accumulate;
  // The updates alone, by these sums. Inputs: kRate, and kStep where the optimizer counts; its
  // output, kRate again, is of no use.
  Graph apply;
  std::vector<std::string> sums;  // the states that are to be zero before the first part
};

// Of a training whose graphs are for a part of a step's images (TrainingOptions::in_parts).
// InvalidArgument, naming a node, where a whole step is not the sum of its parts: batch norms by
// the statistics of the batch, and dropout, whose mask follows from the place in the batch.
absl::StatusOr<MicroBatchGraphs> MakeMicroBatches(const TrainingGraph& graph, int64_t parts);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_MICRO_BATCHES_H_
