#include "tools/options.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/parse.h"
#include "graph/passes/pass.h"
#include "graph/status.h"
#include "memory/planner.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/record/recorded_tiles.h"
#include "serialization/kernel_record_path.h"
#include "tools/exit_code.h"
#include "tools/option_kinds.h"

namespace ashlar {
namespace {

constexpr int kMaxThreads = 1024;

absl::StatusOr<bool> ParseLayout(absl::string_view text) {
  if (text == "nchw") return false;
  if (text == "nhwc") return true;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not nchw or nhwc"));
}

// Adds an option of the table, whose text `set` takes.
template <typename Set>
CLI::Option* AddRequestOption(CLI::App& app, const RequestOption& option, const std::string& suffix,
                              const Set& set) {
  const std::string name = absl::StrCat("--", option.name, suffix);
  const auto store = [name, set](absl::string_view text) {
    if (const absl::Status status = set(text); !status.ok()) {
      throw CLI::ValidationError(name, std::string(status.message()));
    }
  };
  if (!option.metavar.empty()) {
    return app
        .add_option_function<std::string>(
            name, [store](const std::string& text) { store(text); }, option.help)
        ->option_text(option.metavar);
  }
  return app
      .add_flag_callback(
          name, [store] { store("on"); }, option.help)
      ->option_text(" ");
}

// Options of a request that are about the execution, and are listed there.
bool IsOfExecution(const RequestOption& option) {
  return option.name == "precision" || option.name == "allow-tf32";
}

}  // namespace

absl::StatusOr<std::optional<Processor>> DefaultProcessor() {
  const char* const text = std::getenv(kProcessorVariable);
  if (text == nullptr || *text == '\0') return std::optional<Processor>();
  PlanRequest request;
  const absl::Status set = FindRequestOption("processor")->set(text, request);
  if (set.ok()) return request.target.processor;
  return UsageError(absl::StrCat(kProcessorVariable, ": ", set.message()));
}

void AddThreadsFlag(CLI::App& app, int& threads) {
  threads = DefaultThreads();
  AddNumber(app, "--threads", threads, 1, kMaxThreads,
            absl::StrCat("threads of the run (default ", threads, ")"))
      ->group("Execution");
}

void AddPrecisionFlag(CLI::App& app, DType& precision) {
  const RequestOption& option = *FindRequestOption("precision");
  const auto set = [&option, &precision](absl::string_view text) -> absl::Status {
    PlanRequest request;
    ASHLAR_RETURN_IF_ERROR(option.set(text, request));
    precision = request.target.precision;
    return absl::OkStatus();
  };
  AddRequestOption(app, option, "", set)->group("Execution");
}

void AddDeviceFlags(CLI::App& app, ExecutionFlags& flags) {
  AddParsed(app, "--device", flags.device, CompNode::Parse, "cpu0:0|gpu0:0",
            "the device that runs it (default cpu0:0)")
      ->group("Execution");
  AddThreadsFlag(app, flags.threads);
}

void AddExecutionFlags(CLI::App& app, ExecutionFlags& flags) {
  AddDeviceFlags(app, flags);
  AddNumber(app, "--seed", flags.seed, 0, kUnlimited, "seed of random inputs (default 0)")
      ->group("Execution");
  AddPrecisionFlag(app, flags.precision);
  const RequestOption& tf32 = *FindRequestOption("allow-tf32");
  const auto set = [&tf32, &flags](absl::string_view text) {
    PlanRequest request;
    const absl::Status status = tf32.set(text, request);
    flags.allow_tf32 = request.planning.kernels.allow_tf32;
    return status;
  };
  AddRequestOption(app, tf32, "", set)->group("Execution");
}

absl::Status PlanningFlags::Set(const RequestOption& option, absl::string_view text) {
  PlanRequest alone;
  ASHLAR_RETURN_IF_ERROR(option.set(text, alone));
  given[option.name] = std::string(text);
  Update();
  return absl::OkStatus();
}

void PlanningFlags::SetAll(const PlanningFlags& others) {
  for (const auto& [name, text] : others.given) {
    for (const RequestOption& option : RequestOptions()) {
      const bool mine = option.name == name;
      if (option.needs == name) given.erase(option.name);  // it was about the other budget
      for (const std::string& excluded : option.excludes) {
        if (mine) given.erase(excluded);
        if (excluded == name) given.erase(option.name);
      }
    }
    given[name] = text;
  }
  for (const RequestOption& option : RequestOptions()) {
    if (!option.needs.empty() && !given.contains(option.needs)) given.erase(option.name);
  }
  Update();
}

void PlanningFlags::Update() {
  request = PlanRequest();
  request.target.processor = DefaultProcessor().value_or(std::nullopt);
  SetOptions(given, request).IgnoreError();  // Set has checked texts; CLI11 reports conflicts
}

PlanRequest PlanningFlags::RequestOn(const CompNode& device) const {
  PlanRequest on_device = request;
  on_device.target.comp_node = device;
  const bool from_environment = !given.contains("processor");
  if (device.type == CompNode::Type::kMcu && from_environment) on_device.target.processor.reset();
  return on_device;
}

void AddPlanningFlags(CLI::App& app, PlanningFlags& flags, const std::string& suffix) {
  const std::string group = suffix.empty() ? "Planning" : kUnlistedGroup;
  flags.app = &app;
  flags.suffix = suffix;
  flags.record = DefaultKernelRecordPath();
  flags.request.target.processor = DefaultProcessor().value_or(std::nullopt);
  for (const RequestOption& option : RequestOptions()) {
    if (IsOfExecution(option)) continue;
    const auto set = [&option, &flags](absl::string_view text) { return flags.Set(option, text); };
    CLI::Option* const added = AddRequestOption(app, option, suffix, set)->group(group);
    const auto declared = [&](const std::string& name) {
      return app.get_option(absl::StrCat("--", name, suffix));
    };
    for (const std::string& other : option.excludes) added->excludes(declared(other));
    if (!option.needs.empty()) added->needs(declared(option.needs));
  }
  if (!suffix.empty()) return;
  app.add_flag_callback(
         "--no-autotune", [&flags] { flags.autotune = false; },
         "use none of the kernels and tiles that `tune` measured")
      ->option_text(" ")
      ->group(group);
}

bool PlanningFlags::Given(const std::string& option) const {
  if (app == nullptr) return false;
  for (const std::string& name : {option, option + suffix}) {
    const CLI::Option* const found = app->get_option_no_throw(name);
    if (found != nullptr && found->count() > 0) return true;
  }
  return false;
}

void AddPlanFileFlag(CLI::App& app, PlanningFlags& flags) {
  CLI::Option* const plan =
      AddText(app, "--plan", flags.plan_file, "FILE.plan",
              "a plan that `plan -o FILE.plan` wrote: nothing is searched for");
  for (CLI::Option* option :
       app.get_options([](const CLI::Option* o) { return o->get_group() == "Planning"; })) {
    plan->excludes(option);
  }
  plan->group("Planning");
}

absl::Status CheckTogether(const ExecutionFlags& execution, const PlanningFlags& planning) {
  PlanRequest request = planning.RequestOn(execution.device);
  request.target.precision = execution.precision;
  request.planning.kernels.allow_tf32 = execution.allow_tf32;
  const absl::Status status =
      CheckTogether(request, [](absl::string_view name) { return absl::StrCat("--", name); });
  return status.ok() ? status : UsageError(status.message());
}

absl::Status CheckEnding(absl::string_view option, const std::string& path,
                         absl::Span<const absl::string_view> endings) {
  struct stat info;
  if (path.empty() || (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))) {
    return absl::OkStatus();
  }
  for (absl::string_view ending : endings) {
    if (absl::EndsWithIgnoreCase(path, ending)) return absl::OkStatus();
  }
  const absl::Span<const absl::string_view> others = endings.subspan(0, endings.size() - 1);
  return UsageError(absl::StrCat(option, " ", path, ": cannot tell the format; expected a ",
                                 absl::StrJoin(others, ", "), others.empty() ? "" : " or ",
                                 endings.back(), " file"));
}

PlanRequest ToPlanRequest(const ExecutionFlags& execution, const PlanningFlags& flags,
                          Console& console) {
  PlanRequest request = flags.RequestOn(execution.device);
  auto& [target, planning, debug] = request;
  target.threads = execution.threads;
  target.precision = execution.precision;
  planning.kernels.allow_tf32 = execution.allow_tf32;
  if (flags.autotune && !flags.record.empty()) {
    planning.record =
        RecordFor(flags.record, target, [&](const std::string& note) { console.Note(note); });
  }
  target.tuned_tiles =
      flags.tuned_tiles && !flags.Given("--tile") && !target.budget && !target.total;
  if (target.total) {
    UseOneHeap();
    target.total->process_bytes = ProcessBytes(execution.threads);
  }
  return request;
}

void AddModelFlags(CLI::App& app, ModelFlags& flags, const std::string& what) {
  app.add_option("MODEL", flags.path, what)->required()->option_text(" ");
  const OptionGroup model(app, "Model");
  AddRepeated(model, "--shape", flags.shapes, "NAME=1x3x224x224",
              "another shape for an input: the batch, or the size of images if the model takes any "
              "size; 1..8x3x{224,320}x224: all of these, in one arena (plan, run, bench, verify)");
  AddRepeated(model, "--value", flags.values, "NAME=NUMBER,...",
              "a fixed value for an input of an .onnx model, such as a sampling rate");
  AddRepeated(model, "--bound", flags.bounds, "NAME=NUMBER",
              "the most to plan for, of a value whose size depends on data (NonZero, suppression): "
              "more is an error of the run");
  AddText(model, "--outputs", flags.outputs, "NAME,...",
          "values or nodes of an .onnx model that become its outputs");
  AddRepeated(model, "--then", flags.then, "MODEL",
              "a model that reads the outputs of the one before: both are planned as one");
  AddRepeated(model, "--pixels", flags.pixels, "NAME=480x640,...",
              "an input takes bytes {N,H,W,C}, or {N,H*3/2,W} of nv12, which the model converts");
  AddRepeated(model, "--state", flags.states, "OUTPUT=INPUT",
              "an output becomes this input of the next run, at first zeros");
  AddParsed(model, "--input-layout", flags.channels_last, ParseLayout, "nchw|nhwc",
            "of the images that the model takes and gives (default nchw: {N,C,H,W})");
  // Not listed: the error of a model that needs it names it.
  app.add_flag("--allow-external-symlinks", flags.follow_links,
               "read the weights of an .onnx model through links, too")
      ->group(kUnlistedGroup);
}

std::vector<std::string> ModelArguments(const ModelFlags& flags) {
  std::vector<std::string> words = {flags.path};
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) words.insert(words.end(), {option, value});
  };
  add("--shape", flags.shapes);
  add("--value", flags.values);
  add("--bound", flags.bounds);
  if (!flags.outputs.empty()) add("--outputs", {flags.outputs});
  add("--then", flags.then);
  add("--pixels", flags.pixels);
  add("--state", flags.states);
  if (flags.channels_last) add("--input-layout", {"nhwc"});
  if (flags.follow_links) words.push_back("--allow-external-symlinks");
  return words;
}

void AddInputFlags(CLI::App& app, InputFlags& flags) {
  AddRepeated(app, "--input", flags.files, "NAME=FILE",
              ".npy, .npz, .png, .jpg, .ppm or raw, - for stdin (default: random); several fill a "
              "batch")
      ->group("Inputs");
  AddPreparationFlags(app, flags);
}

void AddPreparationFlags(CLI::App& app, InputFlags& flags) {
  const OptionGroup inputs(app, "Inputs");
  AddParsed(inputs, "--mean", flags.mean, ParseNumbers, "R,G,B",
            "subtracted from each channel, of 0 to 255 in photographs (default there: ImageNet's, "
            "or 0 beside --scale)");
  AddParsed(inputs, "--scale", flags.scale, ParseNumbers, "R,G,B",
            "each channel is then multiplied by this (default for photographs: ImageNet's, or 1 "
            "beside --mean)");
  AddParsed(inputs, "--layout", flags.nhwc, ParseLayout, "nchw|nhwc",
            "of array and raw files (default nchw)");
  AddPictureFlags(app, flags.pictures);
}

}  // namespace ashlar
