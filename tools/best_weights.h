// The weights of a training after the epoch with the least validation loss.
#ifndef ASHLAR_TOOLS_BEST_WEIGHTS_H_
#define ASHLAR_TOOLS_BEST_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "training/training_session.h"

namespace ashlar {

class BestWeights {
 public:
  int64_t epoch() const { return epoch_; }  // -1: none yet
  double loss() const { return loss_; }

  // Copies the session's weights if the loss is the least so far. NaN is not less than anything.
  absl::Status Keep(const TrainingSession& session, int64_t epoch, double loss);
  // Writes the copies into the session.
  absl::Status Restore(TrainingSession& session) const;

 private:
  int64_t epoch_ = -1;
  double loss_ = 0;
  std::vector<HostTensor> states_;  // in the order of the session's names
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_BEST_WEIGHTS_H_
