// The training options, and the graphs that are built from them.
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
  bool train = false;   // AddTrainFlag: plan a training step
  int64_t batch = 0;    // images of a step; 0: the model's batch
  int64_t classes = 0;  // 0: the model's classes
  uint64_t seed = 1;    // of a new last layer, and of the order of images
  TrainingOptions options;
  int64_t memory_budget =
      -1;  // bytes, for which options.recompute is searched; 0: as few as possible
  double max_extra_flops = std::numeric_limits<double>::infinity();
  std::optional<double>
      extra_flops;  // limit on the extra operations of FitIntoBudget, over a step's
};

void AddTrainingFlags(CLI::App& app, TrainingFlags& flags);
// Adds, for commands about a plan, --train, and the options of AddTrainingFlags without listing
// them.
void AddTrainFlag(CLI::App& app, TrainingFlags& flags);

// Loads a model for steps of `flags.batch` images. An ONNX model is read for that batch, because
// values that follow from shapes are computed while it is read.
absl::StatusOr<Model> LoadModelToTrain(const ModelFlags& model, const TrainingFlags& flags,
                                       Console& console, WeightsUse use = WeightsUse::kAsItRuns);

// Returns the model with the requested batch and classes. Errors have exit codes.
absl::StatusOr<Model> ModelToTrain(Model model, const TrainingFlags& flags);

// Builds the training graphs of ModelToTrain; kUsage if the model cannot be trained with these
// options.
absl::StatusOr<TrainingGraph> GraphToTrain(Model model, const TrainingFlags& flags);

// If there is a budget, finds the step that fits it under `request`, and stores its recomputation
// in `flags`. kDoesNotFit if none fits.
absl::Status FitIntoBudget(const PlanRequest& request, TrainingGraph& graph, TrainingFlags& flags,
                           Console& console);

// Returns the model as it is, or with --train a model whose graph is a training step. A budget in
// `planning` is used to find that step, and replaced by its recomputation.
absl::StatusOr<Model> WithTraining(Model model, TrainingFlags& flags,
                                   const ExecutionFlags& execution, PlanningFlags& planning,
                                   Console& console);

// Adds "recompute" to the document of a step's plan: the recomputed nodes, and, if a budget chose
// them, the extra operations. Adds nothing without --train.
void AddRecompute(const TrainingFlags& flags, Json& document);

// Calls LoadModelToTrain, then WithTraining.
absl::StatusOr<Model> LoadWithTraining(const ModelFlags& model, TrainingFlags& flags,
                                       const ExecutionFlags& execution, PlanningFlags& planning,
                                       Console& console, WeightsUse use = WeightsUse::kAsItRuns);

// Makes the inputs of that graph, like MakeInputs of tools/inputs.h. The inputs of a step besides
// images are not random: class 0, a small learning rate, the first step.
absl::StatusOr<InputTensors> MakeInputs(const Graph& graph, const InputFlags& inputs,
                                        const TrainingFlags& flags, uint64_t seed,
                                        Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_TRAINING_FLAGS_H_
