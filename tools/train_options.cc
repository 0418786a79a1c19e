#include "tools/train_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "tools/exit_code.h"
#include "tools/option_kinds.h"

namespace ashlar {
namespace {

// Parses a share of the images, between 0 and 1.
absl::StatusOr<double> ParseShare(absl::string_view text) {
  double share = 0;
  if (absl::SimpleAtod(text, &share) && share > 0 && share < 1) return share;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not between 0 and 1"));
}

}  // namespace

void TrainOptions::Declare(CLI::App& app) {
  AddModelFlags(app, model_);
  const OptionGroup data(app, "Data");
  AddText(data, "--data", data_, "X.npz|DIR",
          "images and labels in an .npz file, or a folder for each class")
      ->required();
  AddText(data, "--validate", validate_, "X.npz|DIR",
          "the same, to be classified after each epoch");
  AddParsed(data, "--validate-split", validate_split_, ParseShare, "SHARE",
            "hold out a share of --data for that, chosen by --seed, such as 0.2")
      ->excludes(app.get_option("--validate"));
  AddPreparationFlags(app, inputs_);
  const OptionGroup training(app, "Training");
  AddNumber(training, "--epochs", epochs_, 1, 1 << 20, "passes over the data (default 1)");
  AddReal(training, "--lr", rate_, "learning rate of the first step (default 0.01)");
  AddParsed(training, "--schedule", schedule_, ParseSchedule,
            "constant|cosine|step:EPOCHS[:FACTOR]", "of the learning rate (default constant)");
  AddTrainingFlags(app, flags_);
  AddNumber(
      training, "--micro-batch", micro_batch_, 1, 1 << 20,
      "images at a time; a step sums up their gradients (exact, so not with batch statistics)")
      ->needs(app.get_option("--batch"));
  AddNumber(training, "--patience", patience_, 1, 1 << 20,
            "end after so many epochs without a smaller validation loss; the weights of the "
            "best are written");
  const OptionGroup files(app, "Files");
  AddText(files, "-o,--output", output_, "FILE", "the trained model (.ash or .onnx)")->required();
  AddText(files, "--labels", labels_, "FILE",
          "the names of the classes, for `run --labels`; of a folder's");
  AddText(files, "--log", log_, "FILE.csv", "a line a step: step,epoch,loss,learning_rate");
  AddText(files, "--curve", curve_, "FILE.svg", "the losses as a picture");
  CLI::Option* const checkpoint = AddText(files, "--checkpoint", checkpoint_, "FILE.ash",
                                          "all that it takes to go on, as it is now");
  AddNumber(files, "--checkpoint-every", checkpoint_every_, 1, 1 << 30,
            "steps (default: one epoch)")
      ->needs(checkpoint);
  AddFlag(files, "--resume", resume_, "go on from the checkpoint, if there is one")
      ->needs(checkpoint);
  checkpoint->excludes(app.get_option("--patience"));
  AddDeviceFlags(app, execution_);
}

absl::Status TrainOptions::CheckOptions() const {
  ASHLAR_RETURN_IF_ERROR(CheckEnding("-o", output_, {".ash", ".onnx"}));
  ASHLAR_RETURN_IF_ERROR(CheckEnding("--log", log_, {".csv"}));
  ASHLAR_RETURN_IF_ERROR(CheckEnding("--curve", curve_, {".svg"}));
  if (patience_ > 0 && validate_.empty() && validate_split_ == 0) {
    return UsageError("--patience needs --validate or --validate-split");
  }
  const OptimizerSpec& optimizer = flags_.options.optimizer;
  if (optimizer.nesterov && (UsesStep(optimizer) || optimizer.momentum == 0)) {
    return UsageError("--nesterov needs --optimizer sgd with a momentum");
  }
  if (micro_batch_ > 0 && flags_.batch % micro_batch_ != 0) {
    return UsageError(
        absl::StrCat("--micro-batch ", micro_batch_, " is no part of --batch ", flags_.batch));
  }
  return absl::OkStatus();
}

std::vector<IdleOptions> TrainOptions::Idle(const ConsoleFlags&) const {
  if (!UsesStep(flags_.options.optimizer)) return {};
  return {{{"--momentum"}, "adam and adamw have none"}};
}

std::vector<std::string> TrainOptions::OutputFiles() const {
  return {output_, labels_, log_, curve_, checkpoint_};
}

}  // namespace ashlar
