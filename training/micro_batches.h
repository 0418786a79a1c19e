// Gradient accumulation: gradients of micro-batches are summed before the update, so that
// activations need the memory of one micro-batch.
#ifndef ASHLAR_TRAINING_MICRO_BATCHES_H_
#define ASHLAR_TRAINING_MICRO_BATCHES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "training/training_graph.h"

namespace ashlar {

struct MicroBatchGraphs {
  // TrainingGraph::step without the updates: instead it adds 1 / parts of each gradient to a state.
  // Its only inputs are images and labels.
  Graph accumulate;
  // The updates alone, from these sums. Inputs: kRate, and kStep if the optimizer counts steps. Its
  // output, kRate again, is of no use.
  Graph apply;
  std::vector<std::string> sums;  // states to set to zero before the first micro-batch
};

// Splits a step into `parts` micro-batches. `graph` must be made for the images of one micro-batch
// (TrainingOptions::in_parts). InvalidArgument, naming a node, if a step is not the sum of its
// micro-batches: batch norms by the statistics of the batch, and dropout, whose mask depends on the
// position in the batch.
absl::StatusOr<MicroBatchGraphs> MakeMicroBatches(const TrainingGraph& graph, int64_t parts);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_MICRO_BATCHES_H_
