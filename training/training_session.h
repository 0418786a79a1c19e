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
  // States begin with the model's values. With several parts a step is of `parts` times the images
  // of `graph`, which is run for one part after the other (training/micro_batches.h).
  static absl::StatusOr<std::unique_ptr<TrainingSession>> Create(TrainingGraph graph,
                                                                 const PlanRequest& request,
                                                                 int64_t parts = 1);

  // The inputs of Step, to be filled before it: row-major, of the graph's types.
  void* images() { return images_.mutable_raw(); }
  void* labels() { return labels_.mutable_raw(); }
  // One step on images() and labels(), at this learning rate: the loss before it. From
  // the second one on it allocates nothing.
  absl::StatusOr<float> Step(double rate);
  // The same on copies of these tensors. InvalidArgument where they are of other types.
  absl::StatusOr<float> Step(const HostTensor& images, const HostTensor& labels, double rate);

  // The logits of images(), by the states as they are. Valid until the next call.
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
  // The model with its parameters as they are now, for images of this shape.
  absl::StatusOr<Graph> Trained(const Shape& images) const;
  // `model`, of the same parameters by name, such as the model read for another number of images,
  // with the parameters as they are now. NotFound where a parameter is not of this training.
  absl::StatusOr<Graph> Trained(const Graph& model, const ParameterOptions& options) const;

  const TrainingGraph& graph() const { return graph_; }
  // Of a step, or of a part of one.
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
  std::vector<std::string> sums_;  // states of gradients, of several parts
  HostTensor images_, labels_, rate_, step_, loss_, logits_, unused_;
  std::unique_ptr<Session> session_, evaluation_;
  std::unique_ptr<Session> updates_;  // of several parts, behind the last one
  int64_t steps_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_TRAINING_SESSION_H_
