#include "training/training_session.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "serialization/input_shapes.h"
#include "training/micro_batches.h"
#include "training/own_weights.h"

namespace ashlar {
namespace {

// Returns zeros for all micro-batches, one after the other.
HostTensor ZerosOf(const TensorType& type, int64_t parts) {
  Shape shape = type.shape;
  if (parts > 1) shape[0] *= parts;
  return HostTensor::Zeros(type.dtype, shape);
}

absl::Status CopyInto(HostTensor& to, const HostTensor& from, absl::string_view what) {
  if (from.dtype() != to.dtype() || from.shape() != to.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " are ", TensorType{from.dtype(), from.shape()}.ToString(),
                     ", expected ", TensorType{to.dtype(), to.shape()}.ToString()));
  }
  std::memcpy(to.mutable_raw(), from.raw(), static_cast<size_t>(to.bytes()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingSession>> TrainingSession::Create(TrainingGraph graph,
                                                                         const PlanRequest& request,
                                                                         int64_t parts) {
  std::unique_ptr<TrainingSession> training(new TrainingSession(std::move(graph), request, parts));
  ASHLAR_RETURN_IF_ERROR(training->Prepare());
  return training;
}

absl::Status TrainingSession::Prepare() {
  images_ = ZerosOf(graph_.images_type, parts_);
  labels_ = ZerosOf(graph_.labels_type, parts_);
  rate_ = HostTensor::Zeros(DType::kFloat32, {1});
  step_ = HostTensor::Zeros(DType::kInt64, {1});
  loss_ = HostTensor::Zeros(DType::kFloat32, {1});
  if (parts_ > 1) ASHLAR_RETURN_IF_ERROR(PrepareUpdates());
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph_.step), request_));
  SessionOptions options;
  if (updates_ != nullptr) options.state = updates_->state();
  ASHLAR_ASSIGN_OR_RETURN(session_, Session::Create(executable, options));
  ASHLAR_RETURN_IF_ERROR(BindPart(*session_, 0));
  ASHLAR_RETURN_IF_ERROR(BindUpdates(parts_ > 1 ? *updates_ : *session_));
  return session_->BindOutput(TrainingGraph::kLoss, loss_.mutable_raw(), loss_.bytes());
}

// Binds the inputs of updates other than gradients.
absl::Status TrainingSession::BindUpdates(Session& session) {
  for (const auto& [name, tensor] :
       {std::pair{TrainingGraph::kRate, &rate_}, std::pair{TrainingGraph::kStep, &step_}}) {
    const absl::Status bound = session.BindInput(name, tensor->raw(), tensor->bytes());
    if (absl::IsNotFound(bound)) continue;  // only Adam reads the step
    ASHLAR_RETURN_IF_ERROR(bound);
  }
  return absl::OkStatus();
}

// From here on the step's graph is the one of a micro-batch.
absl::Status TrainingSession::PrepareUpdates() {
  ASHLAR_ASSIGN_OR_RETURN(MicroBatchGraphs graphs, MakeMicroBatches(graph_, parts_));
  graph_.step = std::move(graphs.accumulate);
  sums_ = std::move(graphs.sums);
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graphs.apply), request_));
  ASHLAR_ASSIGN_OR_RETURN(updates_, Session::Create(executable));
  unused_ = HostTensor::Zeros(DType::kFloat32, {1});
  return updates_->BindOutput(TrainingGraph::kRate, unused_.mutable_raw(), unused_.bytes());
}

absl::Status TrainingSession::BindPart(Session& session, int64_t part) {
  for (const auto& [name, tensor] :
       {std::pair<absl::string_view, HostTensor*>{graph_.images, &images_},
        {TrainingGraph::kLabels, &labels_}}) {
    const int64_t bytes = tensor->bytes() / parts_;
    const absl::Status bound =
        session.BindInput(name, static_cast<const char*>(tensor->raw()) + part * bytes, bytes);
    if (absl::IsNotFound(bound)) continue;  // an evaluation does not read labels
    ASHLAR_RETURN_IF_ERROR(bound);
  }
  return absl::OkStatus();
}

absl::Status TrainingSession::PrepareEvaluation() {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph_.evaluation), request_));
  const Graph& graph = executable->graph();
  logits_ = ZerosOf(graph.var(graph.outputs()[0].var).type, parts_);
  ASHLAR_ASSIGN_OR_RETURN(evaluation_, Session::Create(executable, {.state = session_->state()}));
  return absl::OkStatus();
}

// Runs all micro-batches, whose gradients are summed; returns the mean loss.
absl::StatusOr<float> TrainingSession::RunParts() {
  Device& device = *planned().device;
  StateMemory& states = *session_->state();
  for (const std::string& name : sums_) {
    const StateEntry& sum = *states.pool().Find(name);
    ASHLAR_RETURN_IF_ERROR(device.Fill(states.Find(name), 0, sum.type.bytes()));
  }
  double loss = 0;
  for (int64_t part = 0; part < parts_; ++part) {
    ASHLAR_RETURN_IF_ERROR(BindPart(*session_, part));
    ASHLAR_RETURN_IF_ERROR(session_->Run());
    loss += static_cast<double>(loss_.data<float>()[0]);
  }
  ASHLAR_RETURN_IF_ERROR(updates_->Run());
  return static_cast<float>(loss / static_cast<double>(parts_));
}

absl::StatusOr<float> TrainingSession::Step(double rate) {
  rate_.mutable_data<float>()[0] = static_cast<float>(rate);
  step_.mutable_data<int64_t>()[0] = steps_ + 1;
  if (parts_ > 1) {
    ASHLAR_ASSIGN_OR_RETURN(const float loss, RunParts());
    ++steps_;
    return loss;
  }
  ASHLAR_RETURN_IF_ERROR(session_->Run());
  ++steps_;
  return loss_.data<float>()[0];
}

absl::StatusOr<float> TrainingSession::Step(const HostTensor& images, const HostTensor& labels,
                                            double rate) {
  ASHLAR_RETURN_IF_ERROR(CopyInto(images_, images, "images"));
  ASHLAR_RETURN_IF_ERROR(CopyInto(labels_, labels, "labels"));
  return Step(rate);
}

absl::StatusOr<const HostTensor*> TrainingSession::Evaluate() {
  if (evaluation_ == nullptr) ASHLAR_RETURN_IF_ERROR(PrepareEvaluation());
  const int64_t bytes = logits_.bytes() / parts_;
  for (int64_t part = 0; part < parts_; ++part) {
    ASHLAR_RETURN_IF_ERROR(BindPart(*evaluation_, part));
    ASHLAR_RETURN_IF_ERROR(evaluation_->BindOutput(
        TrainingGraph::kLogits, static_cast<char*>(logits_.mutable_raw()) + part * bytes, bytes));
    ASHLAR_RETURN_IF_ERROR(evaluation_->Run());
  }
  return &logits_;
}

std::vector<std::string> TrainingSession::states() const {
  std::vector<std::string> names;
  for (const StateEntry& entry : session_->state()->pool().entries) {
    if (std::find(sums_.begin(), sums_.end(), entry.name) == sums_.end()) {
      names.push_back(entry.name);
    }
  }
  return names;
}

absl::StatusOr<HostTensor> TrainingSession::Value(const Parameter& parameter) const {
  absl::StatusOr<HostTensor> value = ReadState(parameter.name);
  if (!absl::IsNotFound(value.status())) return value;
  // The loss does not depend on this parameter.
  for (const Parameter& own : graph_.parameters.all) {
    if (own.name == parameter.name) return *graph_.model.constant(own.var);
  }
  return value;
}

absl::StatusOr<Graph> TrainingSession::Trained(const Shape& images) const {
  ASHLAR_ASSIGN_OR_RETURN(Graph trained, WithCurrentValues(graph_.model, graph_.parameters));
  if (images == graph_.images_type.shape) return trained;
  return WithInputShapes(trained, {{graph_.images, images}});
}

absl::StatusOr<Graph> TrainingSession::Trained(const Graph& model,
                                               const ParameterOptions& options) const {
  ASHLAR_ASSIGN_OR_RETURN(const Graph own, WithOwnWeights(model));
  ASHLAR_ASSIGN_OR_RETURN(const Parameters parameters, FindParameters(own, options));
  return WithCurrentValues(own, parameters);
}

absl::StatusOr<Graph> TrainingSession::WithCurrentValues(const Graph& model,
                                                         const Parameters& parameters) const {
  std::vector<HostTensor> values;
  for (const Parameter& parameter : parameters.all) {
    ASHLAR_ASSIGN_OR_RETURN(HostTensor value, Value(parameter));
    values.push_back(std::move(value));
  }
  return WithValues(model, parameters, values);
}

}  // namespace ashlar
