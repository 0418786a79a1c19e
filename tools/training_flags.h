// The options that say how a model is trained, and the graphs that they make of it.
#ifndef ASHLAR_TOOLS_TRAINING_FLAGS_H_
#define ASHLAR_TOOLS_TRAINING_FLAGS_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/session/bind_tensors.h"
#include "tools/json_output.h"
#include "tools/model.h"
#include "training/training_graph.h"

namespace ashlar {

struct TrainingFlags {
  bool train = false;   // AddTrainFlag: the plan is that of a step
  int64_t batch = 0;    // images of a step; 0: as the model has it
  int64_t classes = 0;  // 0: as the model has them
  uint64_t seed = 1;    // of a new last layer, and of the order of images
  TrainingOptions options;
  int64_t memory_budget = -1;  // bytes, for which options.recompute is found; 0: as few as can be
  double max_extra_flops = std::numeric_limits<double>::infinity();
  std::optional<double> extra_flops;  // of FitIntoBudget's options.recompute, over a step's
};

void AddTrainingFlags(CLI::App& app, TrainingFlags& flags);
// For commands about a plan: --train, and the options of AddTrainingFlags without listing them.
void AddTrainFlag(CLI::App& app, TrainingFlags& flags);

// A model of which a step trains `flags.batch` images. An ONNX model is read for that batch: what
// follows from shapes is worked out while it is read.
absl::StatusOr<Model> LoadModelToTrain(const ModelFlags& model, const TrainingFlags& flags,
                                       Console& console, WeightsUse use = WeightsUse::kAsItRuns);

// The model with the batch and the classes that were asked for. Errors have exit codes.
absl::StatusOr<Model> ModelToTrain(Model model, const TrainingFlags& flags);

// The graphs of ModelToTrain; kUsage where the model cannot be trained so.
absl::StatusOr<TrainingGraph> GraphToTrain(Model model, const TrainingFlags& flags);

// Where there is a budget, the step that fits it under `request`, and what it makes again is then
// what `flags` ask for. kDoesNotFit where none does.
absl::Status FitIntoBudget(const PlanRequest& request, TrainingGraph& graph, TrainingFlags& flags,
                           Console& console);

// With --train the model's graph is that of a step, else the model as it is. A budget of `planning`
// becomes that of the step, in whose place is what it makes again.
absl::StatusOr<Model> WithTraining(Model model, TrainingFlags& flags,
                                   const ExecutionFlags& execution, PlanningFlags& planning,
                                   Console& console);

// "recompute" of the document of a step's plan: what it makes again, and where a budget found that,
// the price. Nothing without --train.
void AddRecompute(const TrainingFlags& flags, Json& document);

// LoadModelToTrain, then WithTraining.
absl::StatusOr<Model> LoadWithTraining(const ModelFlags& model, TrainingFlags& flags,
                                       const ExecutionFlags& execution, PlanningFlags& planning,
                                       Console& console, WeightsUse use = WeightsUse::kAsItRuns);

// The inputs of that graph, as MakeInputs of tools/inputs.h. What a step reads beside images is
// class 0, a small learning rate, the first step instead of random numbers.
absl::StatusOr<InputTensors> MakeInputs(const Graph& graph, const InputFlags& inputs,
                                        const TrainingFlags& flags, uint64_t seed,
                                        Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_TRAINING_FLAGS_H_
