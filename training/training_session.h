// Training: one step is one run of one plan, and an evaluation one run of another over the same
// states.
#ifndef ASHLAR_TRAINING_TRAINING_SESSION_H_
#define ASHLAR_TRAINING_TRAINING_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/session.h"
#include "training/training_graph.h"

namespace ashlar {

class TrainingSession {
 public:
  // States begin with the model's values.
  static absl::StatusOr<std::unique_ptr<TrainingSession>> Create(TrainingGraph graph,
                                                                 const PlanRequest& request);

  // What Step reads, to be filled before it: row-major, of the types that the graph says.
  void* images() { return images_.mutable_raw(); }
  void* labels() { return labels_.mutable_raw(); }
  // One step on what images() and labels() hold, at this learning rate: the loss before it. From
  // the second one on it allocates nothing.
  absl::StatusOr<float> Step(double rate);
  // The same on copies of these tensors. InvalidArgument where they are of other types.
  absl::StatusOr<float> Step(const HostTensor& images, const HostTensor& labels, double rate);

  // The logits of what images() holds, by the states as they are. Valid until the next call.
  absl::StatusOr<const HostTensor*> Evaluate();

  // Steps so far, which Adam's correction counts from 1.
  int64_t steps() const { return steps_; }
  void SetSteps(int64_t steps) { steps_ = steps; }

  // By name: parameters, running statistics and the optimizer's.
  std::vector<std::string> states() const;
  absl::StatusOr<HostTensor> ReadState(absl::string_view name) const {
    return session_->ReadState(name);
  }
  absl::Status WriteState(absl::string_view name, const HostTensor& value) {
    return session_->WriteState(name, value);
  }
  // The model with its parameters as they are now.
  absl::StatusOr<Graph> Trained() const;

  const TrainingGraph& graph() const { return graph_; }
  const PlannedGraph& planned() const { return session_->executable().planned(); }

 private:
  TrainingSession(TrainingGraph graph, PlanRequest request)
      : graph_(std::move(graph)), request_(std::move(request)) {}
  absl::Status Prepare();
  absl::Status PrepareEvaluation();

  TrainingGraph graph_;  // the graphs of step and evaluation are in the executables
  const PlanRequest request_;
  HostTensor images_, labels_, rate_, step_, loss_, logits_;
  std::unique_ptr<Session> session_, evaluation_;
  int64_t steps_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_TRAINING_SESSION_H_
