#include "tools/model.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/plan_graph.h"
#include "serialization/megengine/import.h"
#include "serialization/onnx/reader.h"
#include "tools/exit_code.h"
#include "tools/input_shapes.h"
#include "tools/parse.h"

namespace ashlar {

bool HasEnding(const std::string& path, absl::string_view ending) {
  return absl::EndsWithIgnoreCase(path, ending);
}

namespace {

absl::StatusOr<Graph> ReadDump(const std::string& path, uint64_t seed) {
  ASHLAR_ASSIGN_OR_RETURN(const ProfileRecording recording, ReadProfileDump(path));
  absl::StatusOr<Graph> graph = ImportGraph(recording, {.seed = seed});
  if (!graph.ok()) return Annotate(graph.status(), path);
  return graph;
}

absl::StatusOr<InputShapes> ParseShapes(const ModelFlags& flags) {
  InputShapes shapes;
  for (const std::string& text : flags.shapes) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return UsageError(absl::StrCat("--shape ", text, ": expected NAME=SHAPE"));
    }
    absl::StatusOr<Shape> shape = ParseShape(absl::string_view(text).substr(equals + 1));
    if (!shape.ok()) {
      return UsageError(absl::StrCat("--shape ", text, ": ", shape.status().message()));
    }
    shapes[text.substr(0, equals)] = *shape;
  }
  return shapes;
}

absl::StatusOr<Model> LoadOnnx(const ModelFlags& flags, InputShapes shapes, Console& console) {
  OnnxReadOptions options;
  options.shapes = std::move(shapes);
  options.outputs = absl::StrSplit(flags.outputs, ',', absl::SkipEmpty());
  options.follow_links = flags.follow_links;
  options.note = [&console](const std::string& note) { console.Note(note); };
  Model model;
  absl::StatusOr<Graph> graph = ReadOnnx(flags.path, options, &model.data_files);
  if (!graph.ok()) {
    const bool usage = absl::IsFailedPrecondition(graph.status());
    return WithExitCode(graph.status(), usage ? ExitCode::kUsage : ExitCode::kRejectedInput);
  }
  model.graph = *std::move(graph);
  return model;
}

// The files that constants borrow from.
std::vector<std::shared_ptr<const MappedFile>> FilesOf(const Model& model) {
  std::vector<std::shared_ptr<const MappedFile>> files = model.data_files;
  if (model.file.mapping != nullptr) files.push_back(model.file.mapping);
  return files;
}

}  // namespace

absl::StatusOr<Model> LoadModel(const ModelFlags& flags, Console& console, WeightsUse use) {
  console.Progress(absl::StrCat("reading ", flags.path));
  ASHLAR_ASSIGN_OR_RETURN(InputShapes shapes, ParseShapes(flags));
  if (HasEnding(flags.path, ".onnx")) return LoadOnnx(flags, std::move(shapes), console);
  if (!flags.outputs.empty()) {
    return UsageError(
        absl::StrCat("--outputs ", flags.outputs, ": ", flags.path, " is no .onnx file"));
  }
  Model model;
  absl::StatusOr<Graph> graph = HasEnding(flags.path, ".json")
                                    ? ReadDump(flags.path, flags.weights_seed)
                                    : ReadModel(flags.path, &model.file);
  if (!graph.ok()) return WithExitCode(graph.status(), ExitCode::kRejectedInput);
  model.graph = *std::move(graph);
  if (!shapes.empty()) {
    absl::StatusOr<Graph> reshaped = WithInputShapes(model.graph, shapes);
    if (!reshaped.ok()) {
      return WithExitCode(Annotate(reshaped.status(), "--shape"), ExitCode::kUsage);
    }
    model.graph = *std::move(reshaped);
  } else if (model.file.mapping != nullptr && use != WeightsUse::kPlain) {
    absl::StatusOr<std::optional<PackedModel>> packed = ReadPackedModel(model.file);
    if (!packed.ok()) return WithExitCode(packed.status(), ExitCode::kRejectedInput);
    model.packed = *std::move(packed);
  }
  if (model.file.mapping != nullptr && use != WeightsUse::kNone) {
    absl::Status intact;
    if (model.packed) intact = CheckPackedWeights(model.file);
    if (!model.packed || use == WeightsUse::kAll) intact.Update(CheckWeights(model.file));
    if (!intact.ok()) return WithExitCode(intact, ExitCode::kRejectedInput);
  }
  return model;
}

absl::Status UsePlainWeights(Model& model) {
  if (!model.packed) return absl::OkStatus();
  model.packed.reset();
  return WithExitCode(CheckWeights(model.file), ExitCode::kRejectedInput);
}

ReplacedListener LettingGoOf(const Model& model) {
  std::vector<std::shared_ptr<const MappedFile>> files = FilesOf(model);
  if (files.empty()) return nullptr;
  return [files = std::move(files)](const HostTensor& constant) {
    for (const auto& file : files) file->DropResidentPages(constant.raw(), constant.bytes());
  };
}

namespace {

// What the file holds packed; null, with a note that says why, where it does not suit.
absl::StatusOr<std::shared_ptr<const Executable>> FromPacked(Model& model,
                                                             const PlanRequest& request,
                                                             Console& console) {
  if (!model.packed.has_value()) return std::shared_ptr<const Executable>();
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      Executable::FromPacked(*std::move(model.packed), request);
  if (!absl::IsFailedPrecondition(executable.status())) return executable;
  console.Note(
      absl::StrCat(model.file.name, ": ", executable.status().message(), "; packing anew"));
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
  return std::shared_ptr<const Executable>();
}

}  // namespace

absl::Status PlanFileError(const absl::Status& status) {
  if (absl::IsFailedPrecondition(status)) return WithExitCode(status, ExitCode::kUsage);
  return absl::IsInvalidArgument(status) ? WithExitCode(status, ExitCode::kRejectedInput) : status;
}

absl::StatusOr<ModelPlan> PlanAsItRuns(Model model, const PlanRequest& request, Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> packed,
                          FromPacked(model, request, console));
  if (packed != nullptr) return ModelPlan{{packed, &packed->planned()}, true};
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned,
                          PlanGraph(std::move(model.graph), request));
  return ModelPlan{std::move(planned), false};
}

absl::StatusOr<std::shared_ptr<const Executable>> CompileModel(Model model,
                                                               const PlanRequest& request,
                                                               Console& console) {
  const bool recorded = request.means.recorded != nullptr;
  absl::StatusOr<std::shared_ptr<const Executable>> packed = FromPacked(model, request, console);
  if (!packed.ok()) return recorded ? PlanFileError(packed.status()) : packed.status();
  if (*packed != nullptr) return packed;
  console.Progress("planning and packing weights");
  const ReplacedListener letting_go = LettingGoOf(model);
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned =
      PlanGraph(std::move(model.graph), request, letting_go);
  if (!planned.ok()) return recorded ? PlanFileError(planned.status()) : planned.status();
  ASHLAR_RETURN_IF_ERROR((*planned)->ready());
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      Executable::FromPlan(*std::move(planned), {.done_with = letting_go});
  ReturnFreedMemory();
  for (const auto& file : FilesOf(model)) file->DropResidentPages();
  return executable;
}

}  // namespace ashlar
