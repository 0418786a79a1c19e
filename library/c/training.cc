// Training in the C interface.
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "library/c/plan_options.h"
#include "serialization/native/writer.h"
#include "serialization/onnx/export/writer.h"
#include "training/checkpoint.h"
#include "training/strip_search.h"

namespace ashlar::c {
namespace {

absl::StatusOr<TrainingOptions> OptionsIn(const ashlar_training_options& given) {
  TrainingOptions options;
  constexpr OptimizerSpec::Kind kKinds[] = {OptimizerSpec::Kind::kSgd, OptimizerSpec::Kind::kAdam,
                                            OptimizerSpec::Kind::kAdamW};
  if (given.optimizer < ASHLAR_SGD || given.optimizer > ASHLAR_ADAMW) {
    return InvalidArgument(absl::StrCat("optimizer is ", given.optimizer));
  }
  if (given.loss != ASHLAR_CROSS_ENTROPY && given.loss != ASHLAR_MEAN_SQUARE) {
    return InvalidArgument(absl::StrCat("loss is ", given.loss));
  }
  for (const auto& [name, value] :
       {std::pair{"momentum", given.momentum}, std::pair{"weight_decay", given.weight_decay}}) {
    if (std::isfinite(value) && value >= 0) continue;
    return InvalidArgument(absl::StrCat(name, " is ", value, "; expected 0 or more"));
  }
  OptimizerSpec& optimizer = options.optimizer;
  optimizer.kind = kKinds[given.optimizer];
  optimizer.momentum = given.momentum;
  optimizer.nesterov = given.nesterov != 0;
  optimizer.weight_decay = given.weight_decay;
  const bool sgd = given.optimizer == ASHLAR_SGD;
  if (!sgd && given.momentum != 0) return InvalidArgument("momentum is of ASHLAR_SGD");
  if (optimizer.nesterov && (!sgd || given.momentum == 0)) {
    return InvalidArgument("nesterov is of ASHLAR_SGD with a momentum");
  }
  options.loss = given.loss == ASHLAR_MEAN_SQUARE ? Loss::kMeanSquare : Loss::kCrossEntropy;
  options.parameters.freeze = given.freeze == nullptr ? "" : given.freeze;
  options.parameters.batch_statistics = given.frozen_batch_norm == 0;
  return options;
}

// Returns the settings that later losses depend on, except the learning rates and the data, which
// are the caller's.
std::string SettingsOf(const TrainingOptions& options, const TrainingGraph& graph,
                       int64_t classes) {
  return absl::StrCat("library ", options.optimizer.ToString(), " loss=", Name(options.loss),
                      " images=", graph.images_type.ToString(), " freeze='",
                      options.parameters.freeze,
                      "' batch_norm=", options.parameters.batch_statistics ? "batch" : "frozen",
                      " classes=", classes);
}

absl::StatusOr<std::unique_ptr<ashlar_training>> MakeTraining(const ashlar_model& model,
                                                              const ashlar_training_options& given,
                                                              const ashlar_plan_options& plan,
                                                              const Watched& watched) {
  if (plan.share != nullptr) return InvalidArgument("share: a training's weights are its own");
  ASHLAR_ASSIGN_OR_RETURN(TrainingOptions options, OptionsIn(given));
  ASHLAR_ASSIGN_OR_RETURN(Model source, ModelFor(model, plan));
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(source));
  ASHLAR_ASSIGN_OR_RETURN(PlanRequest request, RequestFor(source, plan, watched));
  const std::optional<MemoryBudget> budget = std::exchange(request.target.budget, std::nullopt);
  options.tiles = std::exchange(request.target.tiles, {});  // gradients are tiled, too
  auto made = std::make_unique<ashlar_training>();
  const Model& as_given = model.needs_shapes.ok() ? model.model : source;
  made->as_given = as_given.graph;
  made->source = as_given;
  made->parameters = options.parameters;
  if (given.classes < 0) return InvalidArgument(absl::StrCat("classes is ", given.classes));
  if (given.classes > 0) {
    for (Graph* graph : {&source.graph, &*made->as_given}) {
      ASHLAR_ASSIGN_OR_RETURN(*graph, WithClasses(*graph, given.classes, given.seed));
    }
  }
  ASHLAR_ASSIGN_OR_RETURN(TrainingGraph graph, MakeTrainingGraph(std::move(source.graph), options));
  if (budget.has_value()) {
    ASHLAR_ASSIGN_OR_RETURN(FittedTraining fitted, FitTraining(graph, options, budget->bytes,
                                                               budget->max_extra_flops, request));
    graph.step = std::move(fitted.step.graph);
  }
  made->settings = SettingsOf(options, graph, given.classes);
  made->inputs = {TensorOf(graph.images, graph.images_type, made->names),
                  TensorOf(TrainingGraph::kLabels, graph.labels_type, made->names)};
  const Binding& output = graph.evaluation.outputs()[0];
  made->outputs = {TensorOf(output.name, graph.evaluation.var(output.var).type, made->names)};
  ASHLAR_ASSIGN_OR_RETURN(made->session, TrainingSession::Create(std::move(graph), request));
  made->memory = MemoryOf(made->session->planned());
  for (const StateEntry& entry : made->session->planned().state.entries) {
    made->states.push_back(TensorOf(entry.name, entry.type, made->names));
  }
  return made;
}

absl::StatusOr<std::unique_ptr<ashlar_training>> Make(const ashlar_model& model,
                                                      const ashlar_training_options& given) {
  ashlar_plan_options plan;
  ASHLAR_RETURN_IF_ERROR(Read(given.plan, "ashlar_plan_options", plan));
  return MakeWatched<std::unique_ptr<ashlar_training>>(
      plan, [&](const Watched& watched) { return MakeTraining(model, given, plan, watched); });
}

absl::Status CheckBytes(absl::string_view what, size_t got, const ashlar_tensor& tensor) {
  if (static_cast<int64_t>(got) == tensor.bytes) return absl::OkStatus();
  return InvalidArgument(
      absl::StrCat(what, " are ", got, " bytes, expected the ", tensor.bytes, " of ", tensor.name));
}

absl::Status Fill(void* to, const void* from, size_t bytes, absl::string_view what,
                  const ashlar_tensor& tensor) {
  ASHLAR_RETURN_IF_ERROR(CheckGiven(from, what));
  ASHLAR_RETURN_IF_ERROR(CheckBytes(what, bytes, tensor));
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::StatusOr<const ashlar_tensor*> StateOf(const ashlar_training& training, const char* name) {
  ASHLAR_RETURN_IF_ERROR(CheckGiven(name, "name"));
  for (const ashlar_tensor& state : training.states) {
    if (absl::string_view(state.name) == name) return &state;
  }
  return absl::NotFoundError(absl::StrCat("no state '", name, "'"));
}

// Writes the model with its current weights, for its original batch.
absl::Status Save(const ashlar_training& training, const char* path) {
  ASHLAR_ASSIGN_OR_RETURN(const Graph trained,
                          training.session->Trained(*training.as_given, training.parameters));
  const bool onnx = HasEnding(path, ".onnx");
  if (onnx || HasEnding(path, ".ash")) {
    if (!training.axes) training.axes = FileAxesOf(training.source);
    return onnx ? WriteOnnx(trained, path, *training.axes)
                : WriteModel(trained, path, *training.axes);
  }
  return InvalidArgument(absl::StrCat("path ", path, " is neither a .ash nor a .onnx file"));
}

// Calls `use` while no other thread is in the training; a null handle is refused.
template <typename Training, typename Use>
ashlar_status With(Training* training, const Use& use) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(training, "training"));
    return training->use.Enter([&] { return use(*training); });
  });
}

}  // namespace
}  // namespace ashlar::c

using ashlar::c::CheckGiven;
using ashlar::c::With;

ashlar_status ashlar_model_train(const ashlar_model* model, const ashlar_training_options* options,
                                 ashlar_training** training) {
  return ashlar::c::CallToMake(model, "model", training, "training", options,
                               "ashlar_training_options", ashlar::c::Make);
}

void ashlar_training_release(ashlar_training* training) { delete training; }

ashlar_status ashlar_training_memory(const ashlar_training* training, ashlar_memory* memory) {
  return With(training, [&](const ashlar_training& of) {
    return ashlar::c::Write(of.memory, "ashlar_memory", memory);
  });
}

ashlar_status ashlar_training_inputs(const ashlar_training* training, const ashlar_tensor** first,
                                     size_t* count) {
  return ashlar::c::Hand(training, "training", &ashlar_training::inputs, first, count);
}

ashlar_status ashlar_training_outputs(const ashlar_training* training, const ashlar_tensor** first,
                                      size_t* count) {
  return ashlar::c::Hand(training, "training", &ashlar_training::outputs, first, count);
}

ashlar_status ashlar_training_states(const ashlar_training* training, const ashlar_tensor** first,
                                     size_t* count) {
  return ashlar::c::Hand(training, "training", &ashlar_training::states, first, count);
}

ashlar_status ashlar_training_step(ashlar_training* training, const void* images,
                                   size_t image_bytes, const void* labels, size_t label_bytes,
                                   double rate, float* loss) {
  return With(training, [&](ashlar_training& of) -> absl::Status {
    if (!std::isfinite(rate)) {
      return ashlar::c::InvalidArgument(absl::StrCat("rate is ", rate, "; expected a number"));
    }
    ASHLAR_RETURN_IF_ERROR(
        ashlar::c::Fill(of.session->images(), images, image_bytes, "images", of.inputs[0]));
    ASHLAR_RETURN_IF_ERROR(
        ashlar::c::Fill(of.session->labels(), labels, label_bytes, "labels", of.inputs[1]));
    ASHLAR_ASSIGN_OR_RETURN(const float found, of.session->Step(rate));
    if (loss != nullptr) *loss = found;
    return absl::OkStatus();
  });
}

ashlar_status ashlar_training_evaluate(ashlar_training* training, const void* images,
                                       size_t image_bytes, void* outputs, size_t output_bytes) {
  return With(training, [&](ashlar_training& of) -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(outputs, "outputs"));
    ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckBytes("outputs", output_bytes, of.outputs[0]));
    ASHLAR_RETURN_IF_ERROR(
        ashlar::c::Fill(of.session->images(), images, image_bytes, "images", of.inputs[0]));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::HostTensor* const made, of.session->Evaluate());
    std::memcpy(outputs, made->raw(), output_bytes);
    return absl::OkStatus();
  });
}

ashlar_status ashlar_training_read(const ashlar_training* training, const char* name, void* data,
                                   size_t bytes) {
  return With(training, [&](const ashlar_training& of) -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(data, "data"));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar_tensor* const state, ashlar::c::StateOf(of, name));
    ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckBytes("data", bytes, *state));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::HostTensor value, of.session->ReadState(name));
    std::memcpy(data, value.raw(), bytes);
    return absl::OkStatus();
  });
}

ashlar_status ashlar_training_write(ashlar_training* training, const char* name, const void* data,
                                    size_t bytes) {
  return With(training, [&](ashlar_training& of) -> absl::Status {
    ASHLAR_ASSIGN_OR_RETURN(const ashlar_tensor* const state, ashlar::c::StateOf(of, name));
    const ashlar::TensorType& type = of.session->planned().state.Find(name)->type;
    ashlar::HostTensor value = ashlar::HostTensor::Zeros(type);
    ASHLAR_RETURN_IF_ERROR(ashlar::c::Fill(value.mutable_raw(), data, bytes, "data", *state));
    return of.session->WriteState(name, value);
  });
}

ashlar_status ashlar_training_steps(const ashlar_training* training, int64_t* steps) {
  return With(training, [&](const ashlar_training& of) -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(steps, "steps"));
    *steps = of.session->steps();
    return absl::OkStatus();
  });
}

ashlar_status ashlar_training_checkpoint(const ashlar_training* training, const char* path) {
  return With(training, [&](const ashlar_training& of) -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(path, "path"));
    const ashlar::Progress progress = {of.session->steps(), {}, of.settings};
    return ashlar::c::WithStatus(ashlar::WriteCheckpoint(*of.session, progress, path),
                                 ASHLAR_INVALID_ARGUMENT);
  });
}

ashlar_status ashlar_training_resume(ashlar_training* training, const char* path) {
  return With(training, [&](ashlar_training& of) -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(path, "path"));
    const absl::Status read = ashlar::ReadCheckpoint(path, of.settings, *of.session).status();
    if (absl::IsFailedPrecondition(read)) return read;
    return ashlar::c::WithStatus(read, ASHLAR_REJECTED_FILE);
  });
}

ashlar_status ashlar_training_save(const ashlar_training* training, const char* path) {
  return With(training, [&](const ashlar_training& of) -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(path, "path"));
    return ashlar::c::WithStatus(ashlar::c::Save(of, path), ASHLAR_INVALID_ARGUMENT);
  });
}
