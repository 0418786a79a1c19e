#include "tools/training_flags.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/option_kinds.h"
#include "tools/options.h"
#include "tools/repeat_options.h"
#include "training/strip_search.h"

namespace ashlar {
namespace {

absl::StatusOr<bool> ParseStatistics(absl::string_view text) {
  if (text == "batch") return true;
  if (text == "frozen") return false;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not batch or frozen"));
}

absl::Status Unsuitable(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return status;
  return WithExitCode(status, ExitCode::kUsage);
}

void Add(const OptionGroup& group, TrainingFlags& flags) {
  OptimizerSpec& optimizer = flags.options.optimizer;
  AddNumber(group, "--batch", flags.batch, 1, 1 << 20, "images of a step (default: the model's)");
  AddParsed(group, "--optimizer", optimizer.kind, ParseOptimizer, "sgd|adam|adamw",
            "the optimizer (default sgd)");
  AddReal(group, "--momentum", optimizer.momentum, "of sgd (default 0.9)");
  AddFlag(group, "--nesterov", optimizer.nesterov, "Nesterov's momentum, of sgd");
  AddReal(group, "--weight-decay", optimizer.weight_decay,
          "L2 penalty; of adamw decoupled (default 0)");
  AddParsed(group, "--loss", flags.options.loss, ParseLoss, "cross-entropy|mse",
            "cross-entropy (default) is of class labels");
  AddText(group, "--freeze", flags.options.parameters.freeze, "REGEX",
          "freeze weights with names that match (the names in the model file)");
  AddNumber(group, "--classes", flags.classes, 2, 1 << 20,
            "a new last fully connected layer for so many classes");
  AddParsed(group, "--recompute", flags.options.recompute, ParseRecompute, "none|cheap|ID[:N],...",
            "tensors to recompute instead of keeping them (default none)");
  AddParsed(group, "--batch-norm", flags.options.parameters.batch_statistics, ParseStatistics,
            "batch|frozen", "by statistics of the batch (default), or by the model's");
}

void SetStepInputs(InputTensors& inputs) {
  constexpr double kSmallRate = 1e-3;
  for (const auto& [name, value] : {std::pair{TrainingGraph::kLabels, 0.0},
                                    {TrainingGraph::kRate, kSmallRate},
                                    {TrainingGraph::kStep, 1.0}}) {
    const auto it = inputs.find(name);
    if (it == inputs.end()) continue;
    HostTensor tensor = HostTensor::Zeros(it->second.dtype(), it->second.shape());
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, value);
    it->second = std::move(tensor);
  }
}

}  // namespace

void AddTrainingFlags(CLI::App& app, TrainingFlags& flags) {
  const OptionGroup training(app, "Training");
  Add(training, flags);
  CLI::Option* const budget =
      AddParsed(training, "--memory-budget", flags.memory_budget, ParseBudget, "SIZE|min",
                "recompute as much as fits the arena into so many bytes, in tiles if that is "
                "faster; exit 3 if nothing fits");
  AddParsed(training, "--tile", flags.options.tiles, TileSpec::Parse, "SPEC",
            "compute segments of the model, and their gradients, in tiles (as in `plan`)")
      ->excludes(budget);
  AddParsed(training, "--max-extra-flops", flags.max_extra_flops, ParseRatio, "RATIO",
            "of a step's, that may be computed again for that (0: cheap operators alone)")
      ->needs(budget);
  AddNumber(training, "--seed", flags.seed, 0, kUnlimited,
            "of the order of images and of new layers (default 1)");
}

void AddTrainFlag(CLI::App& app, TrainingFlags& flags) {
  app.add_flag("--train", flags.train, "plan a training step, with the options of `train`")
      ->group("Model");
  Add({app, kUnlistedGroup}, flags);
  for (const char* name : {"--batch", "--optimizer", "--momentum", "--nesterov", "--weight-decay",
                           "--loss", "--freeze", "--classes", "--batch-norm", "--recompute"}) {
    app.get_option(name)->needs("--train");
  }
}

absl::StatusOr<Model> LoadModelToTrain(const ModelFlags& model, const TrainingFlags& flags,
                                       Console& console, WeightsUse use) {
  const bool asked = flags.batch > 0 && model.shapes.empty() && model.then.empty();
  ASHLAR_ASSIGN_OR_RETURN(const ModelSource source, SourceOf(model.path, console));
  if (asked && source.is_onnx) {
    OpenOptions options;
    options.outputs = absl::StrSplit(model.outputs, ',', absl::SkipEmpty());
    options.follow_links = model.follow_links;
    const absl::StatusOr<Model> as_it_is = OpenModel(source, options);
    if (as_it_is.ok() && as_it_is->graph.inputs().size() == 1) {
      const Binding& input = as_it_is->graph.inputs()[0];
      Shape shape = as_it_is->graph.var(input.var).type.shape;
      if (shape.rank() > 0 && shape[0] != flags.batch) {
        shape[0] = flags.batch;
        ModelFlags for_batch = model;
        for_batch.shapes = {absl::StrCat(input.name, "=", absl::StrJoin(shape.dims(), "x"))};
        return LoadModel(for_batch, console, use);
      }
    }
  }
  return LoadModel(model, console, use);
}

absl::StatusOr<Model> ModelToTrain(Model model, const TrainingFlags& flags) {
  if (model.graph.inputs().size() != 1) {
    return UsageError(absl::StrCat("the model has ", model.graph.inputs().size(),
                                   " inputs; one is trained with images alone"));
  }
  const Binding& input = model.graph.inputs()[0];
  Shape shape = model.graph.var(input.var).type.shape;
  if (shape.rank() < 1) return UsageError("the model's input has no batch");
  if (flags.batch > 0 && flags.batch != shape[0]) {
    shape[0] = flags.batch;
    absl::StatusOr<Model> reshaped = WithShapes(std::move(model), {{input.name, shape}});
    if (!reshaped.ok()) {
      return Unsuitable(Annotate(reshaped.status(), absl::StrCat("--batch ", flags.batch)));
    }
    model = *std::move(reshaped);
  }
  model.packed.reset();
  if (flags.classes > 0) {
    absl::StatusOr<Graph> graph = WithClasses(model.graph, flags.classes, flags.seed);
    if (!graph.ok()) return Unsuitable(Annotate(graph.status(), "--classes"));
    model.graph = *std::move(graph);
  }
  return model;
}

absl::StatusOr<TrainingGraph> GraphToTrain(Model model, const TrainingFlags& flags) {
  ASHLAR_ASSIGN_OR_RETURN(model, ModelToTrain(std::move(model), flags));
  absl::StatusOr<TrainingGraph> graph = MakeTrainingGraph(std::move(model.graph), flags.options);
  if (!graph.ok()) return Unsuitable(graph.status());
  return graph;
}

absl::Status FitIntoBudget(const PlanRequest& request, TrainingGraph& graph, TrainingFlags& flags,
                           Console& console) {
  if (flags.memory_budget < 0) return absl::OkStatus();
  console.Progress("searching for tensors to recompute");
  absl::StatusOr<FittedTraining> fitted =
      FitTraining(graph, flags.options, flags.memory_budget, flags.max_extra_flops, request);
  if (!fitted.ok()) {
    return absl::IsResourceExhausted(fitted.status())
               ? WithExitCode(fitted.status(), ExitCode::kDoesNotFit)
               : fitted.status();
  }
  graph.step = std::move(fitted->step.graph);
  flags.options.recompute = fitted->step.point.spec;
  flags.options.tiles = std::move(fitted->tiles);
  flags.extra_flops = fitted->step.point.extra_flops;
  flags.memory_budget = -1;
  console.Note(absl::StrCat(
      FormatPercent(*flags.extra_flops), " more operations; the options that repeat this: ",
      ShellText(OptionsToRepeat(flags.options.tiles, flags.options.recompute))));
  return absl::OkStatus();
}

absl::StatusOr<Model> WithTraining(Model model, TrainingFlags& flags,
                                   const ExecutionFlags& execution, PlanningFlags& planning,
                                   Console& console) {
  if (!flags.train) return model;
  PlanTarget& target = planning.request.target;
  if (target.budget) {
    flags.memory_budget = target.budget->bytes;
    flags.max_extra_flops = target.budget->max_extra_flops;
    target.budget.reset();
  }
  // Gradients are tiled, too. What an earlier call was given, or found, stays.
  if (!target.tiles.empty()) flags.options.tiles = std::exchange(target.tiles, {});
  Model step = model;
  ASHLAR_ASSIGN_OR_RETURN(TrainingGraph graph, GraphToTrain(std::move(model), flags));
  ASHLAR_RETURN_IF_ERROR(
      FitIntoBudget(ToPlanRequest(execution, planning, console), graph, flags, console));
  step.graph = std::move(graph.step);
  step.packed.reset();
  return step;
}

void AddRecompute(const TrainingFlags& flags, Json& document) {
  if (!flags.train) return;
  document["recompute"]["spec"] = flags.options.recompute.ToString();
  if (!flags.options.tiles.empty()) document["recompute"]["tile"] = flags.options.tiles.ToString();
  if (flags.extra_flops) document["recompute"]["extra_flops_ratio"] = *flags.extra_flops;
}

absl::StatusOr<Model> LoadWithTraining(const ModelFlags& model, TrainingFlags& flags,
                                       const ExecutionFlags& execution, PlanningFlags& planning,
                                       Console& console, WeightsUse use) {
  ASHLAR_ASSIGN_OR_RETURN(Model loaded, LoadModelToTrain(model, flags, console, use));
  return WithTraining(std::move(loaded), flags, execution, planning, console);
}

absl::StatusOr<InputTensors> MakeInputs(const Graph& graph, const InputFlags& inputs,
                                        const TrainingFlags& flags, uint64_t seed,
                                        Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(InputTensors made, MakeInputs(graph, inputs, seed, console));
  if (flags.train) SetStepInputs(made);
  return made;
}

}  // namespace ashlar
