// A training session: a step is one run of one plan; an evaluation is one run of another plan over
// the same states.
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
  // Creates a session whose states begin with the model's values. If `parts` > 1, a step takes
  // `parts` times the images of `graph`, which runs once for each micro-batch
  // (training/micro_batches.h).
  static absl::StatusOr<std::unique_ptr<TrainingSession>> Create(TrainingGraph graph,
                                                                 const PlanRequest& request,
                                                                 int64_t parts = 1);

  // The inputs of Step, to be filled before it: row-major, of the graph's types.
  void* images() { return images_.mutable_raw(); }
  void* labels() { return labels_.mutable_raw(); }
  // Runs one step on images() and labels() at this learning rate. Returns the loss before the
  // update. Allocates nothing from the second step on.
  absl::StatusOr<float> Step(double rate);
  // Runs one step on copies of these tensors. InvalidArgument if their types differ from the
  // graph's.
  absl::StatusOr<float> Step(const HostTensor& images, const HostTensor& labels, double rate);

  // Returns the logits of images() under the current states. Valid until the next call.
  absl::StatusOr<const HostTensor*> Evaluate();

  // The number of steps so far; Adam's correction counts steps from 1.
  int64_t steps() const { return steps_; }
  void SetSteps(int64_t steps) { steps_ = steps; }

  // The names of states: parameters, running statistics and the optimizer's states.
  std::vector<std::string> states() const;
  absl::StatusOr<HostTensor> ReadState(absl::string_view name) const {
    return session_->ReadState(name);
  }
  absl::Status WriteState(absl::string_view name, const HostTensor& value) {
    return session_->WriteState(name, value);
  }
  // Returns the model with its current parameters, for images of this shape.
  absl::StatusOr<Graph> Trained(const Shape& images) const;
  // Returns `model` with the current parameters, matched by name, e.g. the same model read for
  // another batch size. NotFound if this training lacks a parameter of it.
  absl::StatusOr<Graph> Trained(const Graph& model, const ParameterOptions& options) const;

  const TrainingGraph& graph() const { return graph_; }
  // The plan of a step, or of one micro-batch.
  const PlannedGraph& planned() const { return session_->executable().planned(); }
  int64_t state_bytes() const { return session_->state()->pool().bytes; }

 private:
  absl::StatusOr<HostTensor> Value(const Parameter& parameter) const;
  absl::StatusOr<Graph> WithCurrentValues(const Graph& model, const Parameters& parameters) const;

  TrainingSession(TrainingGraph graph, PlanRequest request, int64_t parts)
      : graph_(std::move(graph)), request_(std::move(request)), parts_(parts) {}
  absl::Status Prepare();
  absl::Status PrepareUpdates();
  absl::Status PrepareEvaluation();
  absl::Status BindUpdates(Session& session);
  absl::Status BindPart(Session& session, int64_t part);
  absl::StatusOr<float> RunParts();

  TrainingGraph graph_;  // the graphs of step and evaluation are in the executables
  const PlanRequest request_;
  const int64_t parts_;
  std::vector<std::string> sums_;  // states that sum gradients, if there are several micro-batches
  HostTensor images_, labels_, rate_, step_, loss_, logits_, unused_;
  std::unique_ptr<Session> session_, evaluation_;
  std::unique_ptr<Session> updates_;  // if there are several micro-batches: run after the last one
  int64_t steps_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_TRAINING_SESSION_H_
