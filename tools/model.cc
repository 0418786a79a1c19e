#include "tools/model.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "library/channels_last.h"
#include "library/join_models.h"
#include "library/pack_model.h"
#include "library/pixel_input.h"
#include "library/shape_family.h"
#include "library/state_links.h"
#include "runtime/device/code_pages.h"
#include "runtime/measure/process_memory.h"
#include "serialization/onnx/import/reader.h"
#include "serialization/plan_file.h"
#include "tools/exit_code.h"

namespace ashlar {
namespace {

absl::StatusOr<InputShapes> ParseShapes(const ModelFlags& flags) {
  const absl::StatusOr<ShapeFamily> family = ShapeFamily::Parse(flags.shapes);
  if (!family.ok()) return UsageError(absl::StrCat("--shape ", family.status().message()));
  if (family->points().size() == 1) return family->points()[0];
  return UsageError(absl::StrCat("--shape ", family->text(), " declares ", family->points().size(),
                                 " points; plan, run, bench and verify take families of shapes"));
}

absl::StatusOr<std::map<std::string, std::vector<double>>> ParseValues(const ModelFlags& flags) {
  std::map<std::string, std::vector<double>> values;
  for (const std::string& text : flags.values) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError(absl::StrCat("--value ", text, ": expected NAME=NUMBER"));
    }
    absl::StatusOr<std::vector<double>> numbers = ParseNumbers(text.substr(equals + 1));
    if (!numbers.ok()) {
      return UsageError(absl::StrCat("--value ", text, ": ", numbers.status().message()));
    }
    values[text.substr(0, equals)] = *std::move(numbers);
  }
  return values;
}

absl::StatusOr<std::map<std::string, int64_t>> ParseBounds(const ModelFlags& flags) {
  std::map<std::string, int64_t> bounds;
  for (const std::string& text : flags.bounds) {
    const size_t equals = text.rfind('=');
    int64_t bound = 0;
    if (equals == std::string::npos || equals == 0 ||
        !absl::SimpleAtoi(text.substr(equals + 1), &bound) || bound < 0) {
      return UsageError(absl::StrCat("--bound ", text, ": expected NAME=NUMBER, as in boxes=300"));
    }
    bounds[text.substr(0, equals)] = bound;
  }
  return bounds;
}

NoteListener NotesTo(Console& console) {
  return [&console](const std::string& note) { console.Note(note); };
}

}  // namespace

absl::StatusOr<ModelSource> SourceOf(const std::string& path, Console& console) {
  static auto& piped = *new std::map<std::string, ModelSource>;
  if (const auto known = piped.find(path); known != piped.end()) return known->second;
  console.Progress(absl::StrCat("reading ", path));
  absl::StatusOr<ModelSource> source = SourceOf(path == "-" ? "/dev/stdin" : path);
  if (!source.ok()) return WithExitCode(source.status(), ExitCode::kRejectedInput);
  if (source->piped != nullptr) piped[path] = *source;
  return source;
}

namespace {

// Returns the same error, or better advice if the file holds a plan.
absl::Status OfPlan(const std::string& path, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  if (!HasEnding(path, ".plan") && !ReadPlanFile(path).ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": a plan, and no model: give the model that it is of, and --plan ", path,
                   " to run by it (`plan` shows it beside its own with --diff ", path, ")"));
}

absl::StatusOr<Model> LoadOne(const ModelFlags& flags, InputShapes shapes, Console& console,
                              WeightsUse use) {
  ASHLAR_ASSIGN_OR_RETURN(const ModelSource source, SourceOf(flags.path, console));
  const bool onnx = source.is_onnx, with_outputs = onnx || source.is_tflite;
  OpenOptions options;
  options.shapes = std::move(shapes);
  ASHLAR_ASSIGN_OR_RETURN(options.values, ParseValues(flags));
  ASHLAR_ASSIGN_OR_RETURN(options.bounds, ParseBounds(flags));
  if (!flags.outputs.empty() && !with_outputs) {
    return UsageError(absl::StrCat("--outputs ", flags.outputs, ": ", flags.path,
                                   " is no .onnx or .tflite file"));
  }
  if (!flags.values.empty() && !onnx) {
    return UsageError(
        absl::StrCat("--value ", flags.values[0], ": ", flags.path, " is no .onnx file"));
  }
  if (!flags.bounds.empty() && !onnx) {
    return UsageError(
        absl::StrCat("--bound ", flags.bounds[0], ": ", flags.path, " is no .onnx file"));
  }
  options.outputs = absl::StrSplit(flags.outputs, ',', absl::SkipEmpty());
  options.follow_links = flags.follow_links;
  options.weights_seed = flags.weights_seed;
  options.use = use;
  options.note = NotesTo(console);
  absl::StatusOr<Model> model = OpenModel(source, options);
  if (model.ok()) return model;
  if (!absl::IsFailedPrecondition(model.status()) || (!with_outputs && options.shapes.empty())) {
    return WithExitCode(OfPlan(flags.path, model.status()), ExitCode::kRejectedInput);
  }
  return WithExitCode(with_outputs ? model.status() : Annotate(model.status(), "--shape"),
                      ExitCode::kUsage);
}

// Returns the names of a model's inputs.
absl::StatusOr<std::vector<std::string>> InputNamesOf(const ModelFlags& flags, Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(const ModelSource source, SourceOf(flags.path, console));
  std::vector<std::string> names;
  if (source.is_onnx) {
    const absl::StatusOr<OnnxSignature> signature = SignatureOf(source);
    if (!signature.ok()) return WithExitCode(signature.status(), ExitCode::kRejectedInput);
    for (const OnnxTensor& input : signature->inputs) names.push_back(input.name);
    return names;
  }
  ASHLAR_ASSIGN_OR_RETURN(const Model model, LoadOne(flags, {}, console, WeightsUse::kNone));
  for (const Binding& input : model.graph.inputs()) names.push_back(input.name);
  return names;
}

// Moves the shapes of these inputs out of `shapes`.
InputShapes Take(const std::vector<std::string>& inputs, InputShapes& shapes) {
  InputShapes taken;
  for (const std::string& input : inputs) {
    if (auto shape = shapes.extract(input); !shape.empty()) taken.insert(std::move(shape));
  }
  return taken;
}

// Loads the model behind `model` for the shapes that `model` gives, and takes the others of its
// inputs out of `shapes`.
absl::StatusOr<Model> LoadNext(const Model& model, const ModelFlags& flags, InputShapes& shapes,
                               Console& console, WeightsUse use) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<std::string> inputs, InputNamesOf(flags, console));
  InputShapes own = ShapesAfter(model.graph, inputs);
  const bool linked = !own.empty();
  InputShapes given = Take(inputs, shapes);
  own.merge(given);
  if (!given.empty()) {  // the shapes of linked inputs
    return UsageError(absl::StrCat("--shape ", given.begin()->first, ": this input of ", flags.path,
                                   " reads an output of the model before, which gives its size"));
  }
  absl::StatusOr<Model> next = LoadOne(flags, std::move(own), console, use);
  if (next.ok()) return next;
  return Annotate(next.status(),
                  absl::StrCat("--then ", flags.path, linked ? " after the model before it" : ""));
}

// Loads the model, and the ones that follow.
absl::StatusOr<Model> LoadJoined(const ModelFlags& flags, Console& console, WeightsUse use) {
  ASHLAR_ASSIGN_OR_RETURN(InputShapes shapes, ParseShapes(flags));
  if (flags.then.empty()) return LoadOne(flags, std::move(shapes), console, use);
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<std::string> inputs, InputNamesOf(flags, console));
  ASHLAR_ASSIGN_OR_RETURN(Model model, LoadOne(flags, Take(inputs, shapes), console, use));
  for (const std::string& path : flags.then) {
    ModelFlags next;
    next.path = path;
    next.follow_links = flags.follow_links;
    ASHLAR_ASSIGN_OR_RETURN(Model second, LoadNext(model, next, shapes, console, use));
    absl::StatusOr<Model> both = JoinModels(std::move(model), std::move(second));
    if (!both.ok()) {
      return WithExitCode(Annotate(both.status(), absl::StrCat("--then ", path)), ExitCode::kUsage);
    }
    model = *std::move(both);
  }
  if (shapes.empty()) return model;
  absl::StatusOr<Model> reshaped = WithShapes(std::move(model), shapes);  // renamed inputs
  if (reshaped.ok()) return reshaped;
  return WithExitCode(Annotate(reshaped.status(), "--shape"), ExitCode::kUsage);
}

absl::StatusOr<Model> LoadWithStates(Model model, const ModelFlags& flags) {
  std::vector<StateLink> links;
  for (const std::string& text : flags.states) {
    const absl::StatusOr<StateLink> link = ParseStateLink(text);
    if (!link.ok()) return UsageError(absl::StrCat("--state ", link.status().message()));
    links.push_back(*link);
  }
  absl::StatusOr<Model> made = WithStates(std::move(model), links);
  if (made.ok()) return made;
  return WithExitCode(Annotate(made.status(), "--state"), ExitCode::kUsage);
}

absl::StatusOr<Model> LoadChanged(const ModelFlags& flags, Console& console, WeightsUse use) {
  const bool changed =
      !flags.then.empty() || !flags.pixels.empty() || !flags.states.empty() || flags.channels_last;
  if (changed && use == WeightsUse::kAsItRuns) use = WeightsUse::kPlain;
  ASHLAR_ASSIGN_OR_RETURN(Model model, LoadJoined(flags, console, use));
  if (flags.channels_last) {
    absl::StatusOr<Model> last = WithChannelsLast(std::move(model));
    if (!last.ok()) {
      return WithExitCode(Annotate(last.status(), "--input-layout nhwc"), ExitCode::kUsage);
    }
    model = *std::move(last);
  }
  for (const std::string& text : flags.pixels) {
    const auto usage = [&](const absl::Status& status) {
      return WithExitCode(Annotate(status, absl::StrCat("--pixels ", text)), ExitCode::kUsage);
    };
    const absl::StatusOr<PixelInput> pixels = ParsePixelInput(text);
    if (!pixels.ok()) return usage(pixels.status());
    absl::StatusOr<Model> converted = WithPixelInput(std::move(model), *pixels);
    if (!converted.ok()) return usage(Annotate(converted.status(), flags.path));
    model = *std::move(converted);
  }
  return flags.states.empty() ? std::move(model) : LoadWithStates(std::move(model), flags);
}

}  // namespace

absl::StatusOr<Model> LoadModel(const ModelFlags& flags, Console& console, WeightsUse use) {
  ASHLAR_ASSIGN_OR_RETURN(Model model, LoadChanged(flags, console, use));
  // Reading a model and planning it are never in memory at once.
  for (const auto& file : FilesOf(model)) file->DropResidentPages();
  LetGoOfCode();
  return model;
}

absl::Status PlanFileError(const absl::Status& status) {
  if (absl::IsFailedPrecondition(status)) return WithExitCode(status, ExitCode::kUsage);
  return absl::IsInvalidArgument(status) ? WithExitCode(status, ExitCode::kRejectedInput) : status;
}

absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request, Console& console) {
  return PlanModel(std::move(model), request, NotesTo(console));
}

absl::StatusOr<PackedModel> PackModel(Model& model, const PlanRequest& request, Console& console) {
  return PackModel(model, request, NotesTo(console));
}

MemoryNeed NeedOf(const PlannedModel& model) {
  const PlannedGraph& plan = model.plan();
  return NeedOf(plan, ProcessBytes(plan.request.target.threads), model.packed != nullptr);
}

int64_t AddressesNeeded(const PlannedModel& model) {
  return AddressesNeeded(model.plan(), model.packed != nullptr);
}

namespace {

// Prepares for packing weights: checks the address space, and releases memory freed by planning.
absl::Status MakeRoom(const PlannedModel& model) {
  const PlannedGraph& planned = model.plan();
  if (!planned.device->is_host()) return absl::OkStatus();
  ASHLAR_RETURN_IF_ERROR(CheckAddresses(AddressesNeeded(model)));
  const std::optional<TotalBudget>& total = planned.request.target.total;
  const bool streams = planned.weights.window.has_value();
  if (!total && !streams) return absl::OkStatus();
  ReturnFreedMemory();
  if (streams) {
    LockCodeOnUse(CodeOf::kProgram).IgnoreError();
  } else {
    LetGoOfCode();
  }
  return total ? CheckPlanningPeak(total->bytes) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Executable>> CompileModel(Model model,
                                                               const PlanRequest& request,
                                                               Console& console) {
  const DoneWith letting_go = LettingGoOf(model);
  const std::vector<std::shared_ptr<const MappedFile>> files = FilesOf(model);
  console.Progress("planning and packing weights");
  LetGoOfCode();  // of making inputs and of reading options
  absl::StatusOr<PlannedModel> made = PlanModel(std::move(model), request, console);
  if (!made.ok()) {
    return request.planning.recorded != nullptr ? PlanFileError(made.status()) : made.status();
  }
  if (made->packed == nullptr) ASHLAR_RETURN_IF_ERROR(made->planned->ready());
  for (const auto& file : files) file->DropResidentPages();
  ASHLAR_RETURN_IF_ERROR(MakeRoom(*made));
  if (made->packed != nullptr) return made->packed;
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      Executable::FromPlan(std::move(made->planned), {.done_with = letting_go});
  ReturnFreedMemory();
  for (const auto& file : files) file->DropResidentPages();
  return executable;
}

}  // namespace ashlar
