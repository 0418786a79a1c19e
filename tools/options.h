// Groups of options that subcommands share, and their declarations.
#ifndef ASHLAR_TOOLS_OPTIONS_H_
#define ASHLAR_TOOLS_OPTIONS_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/comp_node.h"
#include "library/execution.h"
#include "runtime/device/processor.h"
#include "runtime/plan/request/plan_request.h"
#include "runtime/plan/request/request_options.h"
#include "tools/console.h"
#include "tools/picture_options.h"

namespace ashlar {

// The device that a model runs on, and the precision.
struct ExecutionFlags {
  CompNode device;
  int threads = 1;    // from DefaultThreads
  uint64_t seed = 0;  // for random inputs
  DType precision = DType::kFloat32;
  bool allow_tf32 = false;  // see KernelPolicy
};

void AddExecutionFlags(CLI::App& app, ExecutionFlags& flags);
// Adds the options for the device and its threads alone.
void AddDeviceFlags(CLI::App& app, ExecutionFlags& flags);

void AddThreadsFlag(CLI::App& app, int& threads);
void AddPrecisionFlag(CLI::App& app, DType& precision);

// The environment variable that names the processor to plan for, if no option does.
inline constexpr char kProcessorVariable[] = "ASHLAR_PROCESSOR";
// Returns the processor of that variable; nullopt: this machine's. A usage error if there is no
// such processor.
absl::StatusOr<std::optional<Processor>> DefaultProcessor();

// The options of planning.
struct PlanningFlags {
  PlanRequest request;  // as the given options say; without what ToPlanRequest adds
  OptionTexts given;
  std::string record;  // file of tuned kernels, from DefaultKernelRecordPath; empty: none
  bool autotune = true;
  bool tuned_tiles = true;  // use tuned tiles if neither tiles nor a budget are requested
  std::string plan_file;    // AddPlanFileFlag; empty: none

  // Sets an option. InvalidArgument as RequestOption::set.
  absl::Status Set(const RequestOption& option, absl::string_view text);
  // Sets the given options of other flags, instead of own ones that conflict with them.
  void SetAll(const PlanningFlags& others);
  // Returns `request` for a device. $ASHLAR_PROCESSOR is no microcontroller's.
  PlanRequest RequestOn(const CompNode& device) const;
  // Whether an option ("--tile") is on the command line, with or without the suffix.
  bool Given(const std::string& option) const;
  const CLI::App* app = nullptr;  // which declares these options
  std::string suffix;

 private:
  void Update();  // `request`, by `given`
};

// Adds the planning options. `suffix` is appended to the name of every option, as in "--planner-b",
// and puts them into kUnlistedGroup.
void AddPlanningFlags(CLI::App& app, PlanningFlags& flags, const std::string& suffix = "");

// Adds the option for an existing plan, which replaces all planning options declared before.
void AddPlanFileFlag(CLI::App& app, PlanningFlags& flags);

// Returns a usage error if these options conflict.
absl::Status CheckTogether(const ExecutionFlags& execution, const PlanningFlags& planning);

// Checks the ending of an output file. Usage error if `path` has none of `endings` (".csv"), unless
// it is "" or an existing file that is not regular, such as /dev/stdout. `option` names the option
// in the message.
absl::Status CheckEnding(absl::string_view option, const std::string& path,
                         absl::Span<const absl::string_view> endings);

PlanRequest ToPlanRequest(const ExecutionFlags& execution, const PlanningFlags& planning,
                          Console& console);

// The model file, and shapes of its inputs that override the file's.
struct ModelFlags {
  std::string path;
  std::vector<std::string> shapes;  // "name=1x3x224x224", for inputs of `path`
  std::vector<std::string> values;  // "name=16000", for inputs of an ONNX model
  std::vector<std::string> bounds;  // "name=300", for values whose sizes depend on data
  std::vector<std::string> then;    // models that follow, each fed by all before
  std::vector<std::string> pixels;  // "name=480x640,imagenet" (library/pixel_input.h)
  std::vector<std::string> states;  // "output=input" (library/state_links.h)
  bool channels_last = false;       // images are {N,H,W,C} (library/channels_last.h)
  uint64_t weights_seed = 0;        // for files without weights: profile dumps
  std::string outputs;  // of an ONNX model: names of the tensors to end at, separated by commas
  bool follow_links = false;  // to external data
};

// Adds the options of the model file. `what` describes the file in the help text.
void AddModelFlags(CLI::App& app, ModelFlags& flags,
                   const std::string& what = "the model file (.ash, .onnx or .tflite)");

// Returns the path and the options with which a command opens the same model.
std::vector<std::string> ModelArguments(const ModelFlags& flags);

// The inputs of a model: files, otherwise random numbers.
struct InputFlags {
  std::vector<std::string> files;   // "name=FILE", or "FILE" if there is one input
  std::vector<double> mean, scale;  // by channel, or one for all; empty: see tools/inputs.h
  bool nhwc = false;                // array files hold [N, H, W, C]
  PictureFlags pictures;
};

void AddInputFlags(CLI::App& app, InputFlags& flags);
// Adds the same options without the files.
void AddPreparationFlags(CLI::App& app, InputFlags& flags);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_OPTIONS_H_
