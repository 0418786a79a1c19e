#include "training/training_session.h"

#include <cstring>
#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

HostTensor ZerosOf(const TensorType& type) { return HostTensor::Zeros(type.dtype, type.shape); }

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

absl::StatusOr<std::unique_ptr<TrainingSession>> TrainingSession::Create(
    TrainingGraph graph, const PlanRequest& request) {
  std::unique_ptr<TrainingSession> training(new TrainingSession(std::move(graph), request));
  ASHLAR_RETURN_IF_ERROR(training->Prepare());
  return training;
}

absl::Status TrainingSession::Prepare() {
  images_ = ZerosOf(graph_.images_type);
  labels_ = ZerosOf(graph_.labels_type);
  rate_ = HostTensor::Zeros(DType::kFloat32, {1});
  step_ = HostTensor::Zeros(DType::kInt64, {1});
  loss_ = HostTensor::Zeros(DType::kFloat32, {1});
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph_.step), request_));
  ASHLAR_ASSIGN_OR_RETURN(session_, Session::Create(executable));
  const std::pair<absl::string_view, HostTensor*> inputs[] = {{graph_.images, &images_},
                                                              {TrainingGraph::kLabels, &labels_},
                                                              {TrainingGraph::kRate, &rate_},
                                                              {TrainingGraph::kStep, &step_}};
  for (const auto& [name, tensor] : inputs) {
    const absl::Status bound = session_->BindInput(name, tensor->raw(), tensor->bytes());
    if (absl::IsNotFound(bound)) continue;  // the step, which only Adam counts
    ASHLAR_RETURN_IF_ERROR(bound);
  }
  return session_->BindOutput(TrainingGraph::kLoss, loss_.mutable_raw(), loss_.bytes());
}

absl::Status TrainingSession::PrepareEvaluation() {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph_.evaluation), request_));
  const Graph& graph = executable->graph();
  logits_ = ZerosOf(graph.var(graph.outputs()[0].var).type);
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                          Session::Create(executable, {.state = session_->state()}));
  ASHLAR_RETURN_IF_ERROR(session->BindInput(graph_.images, images_.raw(), images_.bytes()));
  ASHLAR_RETURN_IF_ERROR(
      session->BindOutput(TrainingGraph::kLogits, logits_.mutable_raw(), logits_.bytes()));
  evaluation_ = std::move(session);
  return absl::OkStatus();
}

absl::StatusOr<float> TrainingSession::Step(double rate) {
  rate_.mutable_data<float>()[0] = static_cast<float>(rate);
  step_.mutable_data<int64_t>()[0] = steps_ + 1;
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
  ASHLAR_RETURN_IF_ERROR(evaluation_->Run());
  return &logits_;
}

std::vector<std::string> TrainingSession::states() const {
  std::vector<std::string> names;
  for (const StateEntry& entry : session_->state()->pool().entries) names.push_back(entry.name);
  return names;
}

absl::StatusOr<Graph> TrainingSession::Trained() const {
  std::vector<HostTensor> values;
  for (const Parameter& parameter : graph_.parameters.all) {
    absl::StatusOr<HostTensor> value = ReadState(parameter.name);
    // The loss does not depend on it.
    if (absl::IsNotFound(value.status())) value = *graph_.model.constant(parameter.var);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return WithValues(graph_.model, graph_.parameters, values);
}

}  // namespace ashlar
