#include "tools/best_weights.h"

#include <cmath>
#include <string>
#include <utility>

#include "graph/status.h"

namespace ashlar {

absl::Status BestWeights::Keep(const TrainingSession& session, int64_t epoch, double loss) {
  if (std::isnan(loss) || (epoch_ >= 0 && !(loss < loss_))) return absl::OkStatus();
  epoch_ = epoch;
  loss_ = loss;
  states_.clear();
  for (const std::string& name : session.states()) {
    ASHLAR_ASSIGN_OR_RETURN(HostTensor state, session.ReadState(name));
    states_.push_back(std::move(state));
  }
  return absl::OkStatus();
}

absl::Status BestWeights::Restore(TrainingSession& session) const {
  size_t i = 0;
  for (const std::string& name : session.states()) {
    ASHLAR_RETURN_IF_ERROR(session.WriteState(name, states_[i++]));
  }
  return absl::OkStatus();
}

}  // namespace ashlar
