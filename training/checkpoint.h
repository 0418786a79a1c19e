// Checkpoints: all that a training needs to go on as if it had not stopped, in the native container
// (serialization/native): each tensor is a constant that is handed out under its name, so that
// `ashlar inspect` lists the contents of a checkpoint.
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
  int64_t steps = 0;          // done
  std::vector<float> losses;  // of these, or none where nobody keeps them
  std::string settings;       // that the steps to come depend on; to be the same when it goes on
};

// Whether a file that was read as a model is a checkpoint.
bool IsCheckpoint(const Graph& graph);

// The file is written beside and renamed, so that at any moment there is a whole one.
absl::Status WriteCheckpoint(const TrainingSession& session, const Progress& progress,
                             const std::string& path);

// Puts the states back. InvalidArgument, naming the file, where it is no checkpoint or was changed;
// FailedPrecondition where it is one of another training: of other states, or, where `settings`
// differ, of those.
absl::StatusOr<Progress> ReadCheckpoint(const std::string& path, const std::string& settings,
                                        TrainingSession& session);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_CHECKPOINT_H_
