// ashlar train: trains a model's weights on data.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/file_writer.h"
#include "serialization/native/writer.h"
#include "serialization/onnx/export/writer.h"
#include "tools/best_weights.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/interrupt.h"
#include "tools/model.h"
#include "tools/report/loss_curve.h"
#include "tools/report/loss_log.h"
#include "tools/train_options.h"
#include "tools/training_data.h"
#include "tools/training_split.h"
#include "tools/validation.h"
#include "training/checkpoint.h"
#include "training/training_session.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class TrainCommand final : public TrainOptions {
 public:
  absl::Status Run(Console& console) override {
    console.ResultIsIn(output_);
    const int64_t parts = micro_batch_ > 0 ? flags_.batch / micro_batch_ : 1;
    if (micro_batch_ > 0) flags_.batch = micro_batch_;  // the batch to plan for
    flags_.options.in_parts = parts > 1;
    ASHLAR_ASSIGN_OR_RETURN(Model model,
                            LoadModelToTrain(model_, flags_, console, WeightsUse::kPlain));
    ASHLAR_ASSIGN_OR_RETURN(TrainingGraph graph, GraphToTrain(std::move(model), flags_));
    const BatchTypes types = {graph.images_type, graph.labels_type,
                              graph.labels_type.dtype == DType::kInt32 ? ClassesOf(graph) : 0};
    batch_ = types.images.shape[0] * parts;
    ASHLAR_RETURN_IF_ERROR(FitIntoBudget(Request(), graph, flags_, console));
    console.Progress("reading the data");
    ASHLAR_ASSIGN_OR_RETURN(const TrainingData data,
                            TrainingData::Read(data_, types, inputs_, console));
    classes_ = data.class_names();
    if (!labels_.empty() && classes_.empty()) {
      return UsageError(absl::StrCat("--labels: ", data_, " is no folder of classes with names"));
    }
    std::optional<TrainingData> validation;
    if (!validate_.empty()) {
      ASHLAR_ASSIGN_OR_RETURN(validation, TrainingData::Read(validate_, types, inputs_, console));
    }
    split_.emplace(data.count(), validate_split_, flags_.seed);
    if (validate_split_ > 0 && split_->held_out().empty()) {
      return UsageError(absl::StrCat("--validate-split ", validate_split_, " of ",
                                     Counted(data.count(), "image"), " is none"));
    }
    per_epoch_ = split_->learned() / batch_;
    if (per_epoch_ == 0) {
      return UsageError(absl::StrCat(data_, " has ", Counted(split_->learned(), "image"),
                                     split_->held_out().empty() ? "" : " to learn from",
                                     ", fewer than the ", batch_,
                                     " of a step; --batch makes it smaller"));
    }
    console.Progress("planning");
    absl::StatusOr<std::unique_ptr<TrainingSession>> session =
        TrainingSession::Create(std::move(graph), Request(), parts);
    if (parts > 1 && absl::IsInvalidArgument(session.status())) {
      return UsageError(absl::StrCat("--micro-batch: ", session.status().message()));
    }
    if (!session.ok()) return session.status();
    session_ = *std::move(session);
    progress_.settings = Settings(data);
    if (resume_) ASHLAR_RETURN_IF_ERROR(Resume(console));
    ASHLAR_ASSIGN_OR_RETURN(log_file_, LossLog::Open(log_));
    for (size_t i = 0; i < progress_.losses.size(); ++i) Log(static_cast<int64_t>(i));
    document_ = console.Document(execution_.device, execution_.threads);
    Describe(data, console);
    ASHLAR_RETURN_IF_ERROR(Train(data, validation, console));
    return Finish(console);
  }

 private:
  static int64_t ClassesOf(const TrainingGraph& graph) {
    const Graph& evaluation = graph.evaluation;
    return evaluation.var(evaluation.outputs()[0].var).type.shape[1];
  }

  PlanRequest Request() const {
    PlanRequest request;
    request.target.comp_node = execution_.device;
    request.target.threads = execution_.threads;
    return request;
  }

  int64_t steps() const { return epochs_ * per_epoch_; }
  double RateAt(int64_t step) const { return schedule_.RateAt(rate_, step, steps(), per_epoch_); }

  // Returns the settings that later losses depend on, as a text that identifies a training.
  std::string Settings(const TrainingData& data) const {
    const TrainingOptions& o = flags_.options;
    return absl::StrCat(
        o.optimizer.ToString(), " lr=", rate_, " schedule=", schedule_.ToString(),
        schedule_.kind == RateSchedule::Kind::kCosine ? absl::StrCat(" steps=", steps()) : "",
        " loss=", Name(o.loss), " batch=", batch_, " seed=", flags_.seed, " freeze='",
        o.parameters.freeze, "' batch_norm=", o.parameters.batch_statistics ? "batch" : "frozen",
        " classes=", flags_.classes, " images=", data.count(),
        micro_batch_ > 0 ? absl::StrCat(" micro_batch=", micro_batch_) : "",
        validate_split_ > 0 ? absl::StrCat(" validate_split=", validate_split_) : "",
        " data=", absl::Hex(data.checksum()), " mean=", absl::StrJoin(inputs_.mean, ","),
        " scale=", absl::StrJoin(inputs_.scale, ","));
  }

  absl::Status Resume(Console& console) {
    std::error_code error;
    if (!std::filesystem::exists(checkpoint_, error)) {
      console.Note(absl::StrCat(checkpoint_, " is not there: the training begins anew"));
      return absl::OkStatus();
    }
    absl::StatusOr<Progress> progress = ReadCheckpoint(checkpoint_, progress_.settings, *session_);
    if (absl::IsFailedPrecondition(progress.status())) {
      return WithExitCode(progress.status(), ExitCode::kUsage);
    }
    if (!progress.ok()) return WithExitCode(progress.status(), ExitCode::kRejectedInput);
    progress_ = *std::move(progress);
    return absl::OkStatus();
  }

  void Log(int64_t step) {
    log_file_.Add(step + 1, step / per_epoch_ + 1, progress_.losses[static_cast<size_t>(step)],
                  RateAt(step));
  }

  void Describe(const TrainingData& data, Console& console) {
    const PlannedGraph& planned = session_->planned();
    int64_t learning = 0, elements = 0;
    const TrainingGraph& graph = session_->graph();
    for (const Parameter& parameter : graph.parameters.all) {
      if (!parameter.learns) continue;
      ++learning;
      elements += graph.model.var(parameter.var).type.shape.num_elements();
    }
    document_["model"] = model_.path;
    document_["data"] = {{"path", data_}, {"images", data.count()}};
    if (!split_->held_out().empty()) document_["data"]["held_out"] = split_->held_out().size();
    if (!data.class_names().empty()) document_["data"]["classes"] = data.class_names();
    document_["batch"] = batch_;
    if (micro_batch_ > 0) document_["micro_batch"] = micro_batch_;
    document_["steps_per_epoch"] = per_epoch_;
    document_["resumed_at_step"] = progress_.steps;
    document_["learning"] = {{"tensors", learning}, {"elements", elements}};
    document_["pools"] = {{"arena", {{"planned_bytes", planned.plan.plan.arena}}},
                          {"weights", {{"planned_bytes", planned.weights.bytes}}},
                          {"state", {{"planned_bytes", session_->state_bytes()}}},
                          {"input", {{"planned_bytes", planned.input_bytes()}}},
                          {"output", {{"planned_bytes", planned.output_bytes()}}}};
    document_["epochs"] = Json::array();
    console.Print(absl::StrFormat(
        "%s: %s of %s elements learn, %s of %d images; memory of a step: arena %s, state %s, "
        "constants %s\n",
        model_.path, Counted(learning, "tensor"), absl::StrCat(elements),
        Counted(per_epoch_, "step"), batch_, FormatBytes(planned.plan.plan.arena),
        FormatBytes(session_->state_bytes()), FormatBytes(planned.weights.bytes)));
    if (progress_.steps > 0) {
      console.Print(
          absl::StrFormat("resuming after step %d of %s\n", progress_.steps, checkpoint_));
    }
    if (progress_.steps >= steps()) {
      console.Note(absl::StrCat("nothing is left to train: the checkpoint is of ", progress_.steps,
                                " steps, and --epochs ", epochs_, " ends after ", steps(),
                                "; its weights are written"));
    }
  }

  absl::Status Train(const TrainingData& data, const std::optional<TrainingData>& validation,
                     Console& console) {
    const InterruptWatch watch;
    const int64_t every = checkpoint_every_ > 0 ? checkpoint_every_ : per_epoch_;
    std::vector<int64_t> order;
    int64_t order_of = -1, begun = progress_.steps;
    Clock::time_point start = Clock::now();
    while (progress_.steps < steps()) {
      const int64_t step = progress_.steps, epoch = step / per_epoch_;
      if (order_of != epoch) order = split_->OrderOf(epoch);
      order_of = epoch;
      const auto batch = absl::MakeConstSpan(order).subspan(
          static_cast<size_t>(step % per_epoch_ * batch_), static_cast<size_t>(batch_));
      data.Fill(batch, session_->images(), session_->labels());
      ASHLAR_ASSIGN_OR_RETURN(const float loss, session_->Step(RateAt(step)));
      if (!std::isfinite(loss)) return Diverged(step, loss);
      progress_.losses.push_back(loss);
      ++progress_.steps;
      Log(step);
      const double seconds = SecondsSince(start);
      const double rate = static_cast<double>((progress_.steps - begun) * batch_) / seconds;
      console.Progress(absl::StrFormat("epoch %d of %d, step %d of %d: loss %.4f, %.0f images/s",
                                       epoch + 1, epochs_, step % per_epoch_ + 1, per_epoch_, loss,
                                       rate));
      const bool epoch_ends = progress_.steps % per_epoch_ == 0;
      if (epoch_ends) {
        ASHLAR_RETURN_IF_ERROR(EndEpoch(epoch, rate, data, validation, console));
        start = Clock::now();
        begun = progress_.steps;
      }
      const bool interrupted = watch.interrupted();
      if (!checkpoint_.empty() &&
          (progress_.steps % every == 0 || progress_.steps == steps() || interrupted)) {
        ASHLAR_RETURN_IF_ERROR(WriteCheckpoint(*session_, progress_, checkpoint_));
      }
      if (interrupted && progress_.steps < steps()) return Interrupted();
      if (epoch_ends && patience_ > 0 && epoch - best_.epoch() >= patience_) {
        console.Print(absl::StrFormat("ended after epoch %d: %s without a smaller loss\n",
                                      epoch + 1, Counted(patience_, "epoch")));
        break;
      }
    }
    return patience_ > 0 ? RestoreBest(console) : absl::OkStatus();
  }

  absl::Status RestoreBest(Console& console) {
    if (best_.epoch() < 0) {
      console.Print("the weights are of the last epoch: no validation loss was a number\n");
      return absl::OkStatus();
    }
    ASHLAR_RETURN_IF_ERROR(best_.Restore(*session_));
    document_["best_epoch"] = best_.epoch() + 1;
    console.Print(absl::StrFormat("the weights are of epoch %d, whose validation loss is %.6f\n",
                                  best_.epoch() + 1, best_.loss()));
    return absl::OkStatus();
  }

  absl::Status Diverged(int64_t step, float loss) const {
    const int64_t every = checkpoint_every_ > 0 ? checkpoint_every_ : per_epoch_;
    const bool kept = !checkpoint_.empty() && step >= every;
    return absl::FailedPreconditionError(absl::StrCat(
        "the loss is ", loss, " at step ", step + 1, ", in epoch ", step / per_epoch_ + 1,
        ": a smaller --lr, or data without such values, may help; ",
        kept ? absl::StrCat("the checkpoint ", checkpoint_, " is of an earlier step")
             : "nothing is written"));
  }

  absl::Status Interrupted() const {
    return WithExitCode(
        absl::CancelledError(absl::StrCat(
            "interrupted after step ", progress_.steps, " of ", steps(), ": ",
            checkpoint_.empty() ? "nothing is written; --checkpoint would keep what there is"
                                : absl::StrCat("--resume goes on from ", checkpoint_))),
        ExitCode::kInterrupted);
  }

  absl::Status EndEpoch(int64_t epoch, double images_per_second, const TrainingData& data,
                        const std::optional<TrainingData>& validation, Console& console) {
    double sum = 0;
    for (int64_t i = epoch * per_epoch_; i < (epoch + 1) * per_epoch_; ++i) {
      sum += progress_.losses[static_cast<size_t>(i)];
    }
    Json entry = {{"epoch", epoch + 1},
                  {"mean_loss", sum / static_cast<double>(per_epoch_)},
                  {"images_per_second", images_per_second}};
    std::string text =
        absl::StrFormat("epoch %d of %d: mean loss %.6f, %.0f images/s", epoch + 1, epochs_,
                        sum / static_cast<double>(per_epoch_), images_per_second);
    if (validation || !split_->held_out().empty()) {
      console.Progress("validating");
      std::vector<int64_t> images = split_->held_out();
      for (int64_t i = 0; validation && i < validation->count(); ++i) images.push_back(i);
      ASHLAR_ASSIGN_OR_RETURN(const Validation found,
                              Validate(*session_, validation ? *validation : data, images, batch_));
      entry["validation"] = {{"images", found.images}, {"loss", found.loss}};
      text += "; validation: ";
      if (LabelsAreClasses(*session_)) {
        entry["validation"]["correct"] = found.correct;
        absl::StrAppendFormat(
            &text, "%d of %d right (%s), ", found.correct, found.images,
            FormatPercent(static_cast<double>(found.correct) / static_cast<double>(found.images)));
      }
      if (LabelsAreClasses(*session_) && found.classes > Validation::kTop) {
        entry["validation"]["in_top_5"] = found.in_top;
        absl::StrAppendFormat(&text, "%d in the top %d, ", found.in_top, Validation::kTop);
      }
      absl::StrAppendFormat(&text, "loss %.6f", found.loss);
      if (std::isnan(found.loss)) text += " (not a number, so no smaller one)";
      if (patience_ > 0) ASHLAR_RETURN_IF_ERROR(best_.Keep(*session_, epoch, found.loss));
    }
    document_["epochs"].push_back(std::move(entry));
    console.Print(text + "\n");
    return absl::OkStatus();
  }

  // Returns the model as in its file, with the file's batch size and the trained parameters.
  absl::StatusOr<Graph> TrainedAsTheFile(Console& console, FileAxes& axes) const {
    TrainingFlags flags = flags_;
    flags.batch = 0;
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(model_, console, WeightsUse::kPlain));
    axes = FileAxesOf(model);
    ASHLAR_ASSIGN_OR_RETURN(model, ModelToTrain(std::move(model), flags));
    return session_->Trained(model.graph, flags.options.parameters);
  }

  absl::Status Finish(Console& console) {
    console.Progress(absl::StrCat("writing ", output_));
    ConsoleFlags nothing;  // notes about the file were already printed
    nothing.quiet = true;
    Console silent("train", nothing);
    FileAxes axes;
    absl::StatusOr<Graph> trained = TrainedAsTheFile(silent, axes);
    if (!trained.ok()) {  // save the weights in any case
      const Shape& images = session_->graph().images_type.shape;
      axes = {{{session_->graph().images, 0, ""}}, {}};
      console.Note(absl::StrCat(output_, " is written for a batch of ", images[0], ": ",
                                trained.status().message()));
      trained = session_->Trained(images);
    }
    ASHLAR_RETURN_IF_ERROR(trained.status());
    ASHLAR_RETURN_IF_ERROR(HasEnding(output_, ".onnx") ? WriteOnnx(*trained, output_, axes)
                                                       : WriteModel(*trained, output_, axes));
    if (!labels_.empty()) {
      ASHLAR_RETURN_IF_ERROR(WriteFile(labels_, absl::StrCat(absl::StrJoin(classes_, "\n"), "\n")));
    }
    if (!curve_.empty()) {
      ASHLAR_RETURN_IF_ERROR(
          WriteFile(curve_, DrawLossCurve(absl::StrCat("Loss of ", model_.path, " on ", data_),
                                          progress_.losses, per_epoch_)));
    }
    document_["steps"] = progress_.steps;
    document_["last_loss"] = progress_.losses.back();
    document_["output"] = output_;
    console.Print(
        absl::StrFormat("%s: trained in %s\n", output_, Counted(progress_.steps, "step")));
    return console.Write(document_);
  }

  std::vector<std::string> classes_;  // of a folder
  int64_t batch_ = 0, per_epoch_ = 0;
  std::unique_ptr<TrainingSession> session_;
  std::optional<TrainingSplit> split_;  // once the data is read
  BestWeights best_;                    // with --patience
  Progress progress_;
  LossLog log_file_;
  Json document_;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() { return std::make_unique<TrainCommand>(); }

}  // namespace ashlar
