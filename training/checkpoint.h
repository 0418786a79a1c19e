// Checkpoints: everything needed to resume a training, in the native container
// (serialization/native). Each tensor is a constant and a named output, so that `ashlar inspect`
// lists the contents of a checkpoint.
#ifndef ASHLAR_TRAINING_CHECKPOINT_H_
#define ASHLAR_TRAINING_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "training/training_session.h"

namespace ashlar {

struct Progress {
  int64_t steps = 0;          // completed
  std::vector<float> losses;  // by step; empty if the caller does not save them
  std::string settings;       // which later steps depend on; must be equal on resuming
};

// Whether a file that was read as a model is a checkpoint.
bool IsCheckpoint(const Graph& graph);

// Writes to a temporary file and renames it, so that a complete checkpoint exists at any moment.
absl::Status WriteCheckpoint(const TrainingSession& session, const Progress& progress,
                             const std::string& path);

// Restores the states. InvalidArgument, naming the file, if the file is not a checkpoint or is
// damaged; FailedPrecondition if it belongs to another training: its states or its `settings`
// differ.
absl::StatusOr<Progress> ReadCheckpoint(const std::string& path, const std::string& settings,
                                        TrainingSession& session);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_CHECKPOINT_H_
