#include "library/open_model.h"

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/megengine/import.h"
#include "serialization/native/format.h"
#include "serialization/native/packed_pool.h"
#include "serialization/onnx/import/reader.h"
#include "serialization/tflite/import/reader.h"

namespace ashlar {
namespace {

absl::StatusOr<Graph> ReadDump(const std::string& path, uint64_t seed) {
  ASHLAR_ASSIGN_OR_RETURN(const ProfileRecording recording, ReadProfileDump(path));
  absl::StatusOr<Graph> graph = ImportGraph(recording, {.seed = seed});
  if (!graph.ok()) return Annotate(graph.status(), path);
  return graph;
}

// The same error, as one of options that do not go with the model.
absl::Status Unsuited(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return status;
  return absl::FailedPreconditionError(status.message());
}

using OnnxReader = absl::FunctionRef<absl::StatusOr<Graph>(const OnnxReadOptions&, Model&)>;

absl::StatusOr<Model> OpenOnnx(const OpenOptions& open, OnnxReader read) {
  OnnxReadOptions options;
  options.shapes = open.shapes;
  options.numbers = open.values;
  options.bounds = open.bounds;
  options.files = open.files;
  options.outputs = open.outputs;
  options.follow_links = open.follow_links;
  options.note = open.note;
  Model model;
  options.value_notes = &model.notes;
  absl::StatusOr<Graph> graph = read(options, model);
  if (absl::IsInvalidArgument(graph.status()) && !options.shapes.empty()) {
    // The file's fault, unless it is a model without them.
    options.shapes.clear();
    options.note = nullptr;
    options.value_notes = nullptr;
    Model without;
    if (!absl::IsInvalidArgument(read(options, without).status())) {
      return Unsuited(Annotate(graph.status(), "with the shapes given"));
    }
  }
  ASHLAR_ASSIGN_OR_RETURN(model.graph, std::move(graph));
  return model;
}

// Returns the origin of a model that `open` opened with these options.
template <typename Open>
std::shared_ptr<const ModelOrigin> OriginOf(
    OpenOptions options, Open open,
    std::function<std::optional<std::vector<OpenAxis>>()> open_axes) {
  options.note = nullptr;
  auto reopen = [options, open](const InputShapes& shapes) {
    OpenOptions again = options;
    for (const auto& [name, shape] : shapes) again.shapes[name] = shape;
    return open(again);
  };
  return std::make_shared<const ModelOrigin>(ModelOrigin{reopen, std::move(open_axes)});
}

// Returns the open dimensions of the inputs. Without a name (some exporters write "?") the first
// one is the batch, and others are alone.
std::optional<std::vector<OpenAxis>> OpenAxesIn(const absl::StatusOr<OnnxSignature>& signature) {
  if (!signature.ok()) return std::nullopt;
  std::vector<OpenAxis> open;
  for (const OnnxTensor& input : signature->inputs) {
    if (!input.dims) continue;
    for (size_t i = 0; i < input.dims->size(); ++i) {
      if ((*input.dims)[i] >= 0) continue;
      std::string symbol = input.symbols[i];
      if (symbol.empty() || symbol == "?") {
        symbol = i == 0 ? "batch" : absl::StrCat(input.name, "_", i);
      }
      open.push_back({input.name, static_cast<int>(i), std::move(symbol)});
    }
  }
  return open;
}

// Opens a model that is no ONNX file: `read` reads its graph.
absl::StatusOr<Model> OpenNative(const std::string& path, const OpenOptions& options,
                                 absl::FunctionRef<absl::StatusOr<Graph>(ModelFile*)> read) {
  const auto is_no_onnx_file = [&](const std::string& what) {
    return absl::FailedPreconditionError(absl::StrCat(what, ": ", path, " is no .onnx file"));
  };
  if (!options.outputs.empty()) {
    return is_no_onnx_file(absl::StrCat("outputs ", absl::StrJoin(options.outputs, ",")));
  }
  if (!options.values.empty()) {
    return is_no_onnx_file(absl::StrCat("a value for ", options.values.begin()->first));
  }
  Model model;
  ASHLAR_ASSIGN_OR_RETURN(model.graph, read(&model.file));
  if (model.file.mapping != nullptr && options.use != WeightsUse::kPlain) {
    ASHLAR_ASSIGN_OR_RETURN(model.packed, ReadPackedModel(model.file));
    if (model.packed) {
      model.packed->open_pool = [file = model.file] { return OpenPackedPool(file); };
    }
  }
  if (!options.shapes.empty()) {
    absl::Status reshaped = Reshape(model, options.shapes);
    if (!reshaped.ok()) return Unsuited(reshaped);
  }
  if (model.file.mapping != nullptr && options.use != WeightsUse::kNone) {
    if (model.packed) ASHLAR_RETURN_IF_ERROR(CheckPackedWeights(model.file));
    if (!model.packed || options.use == WeightsUse::kAll) {
      ASHLAR_RETURN_IF_ERROR(CheckWeights(model.file));
    }
  }
  return model;
}

// Opens a TensorFlow Lite model, of which constants share the bytes with `owner` if there is one.
absl::StatusOr<Model> OpenTflite(absl::Span<const uint8_t> bytes,
                                 const std::shared_ptr<const MappedFile>& owner,
                                 const std::string& name, const OpenOptions& open) {
  if (!open.values.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a value for ", open.values.begin()->first, ": ", name, " is no .onnx file"));
  }
  TfliteReadOptions options;
  options.shapes = open.shapes;
  options.outputs = open.outputs;
  Model model;
  model.channels_last = true;
  absl::StatusOr<Graph> graph = ReadTflite(bytes, owner, name, options, &model.reading_bytes);
  if (absl::IsInvalidArgument(graph.status()) && !options.shapes.empty()) {
    options.shapes.clear();  // the file's fault, unless it is a model without them
    if (ReadTflite(bytes, owner, name, options).ok()) {
      return Unsuited(Annotate(graph.status(), "with the shapes given"));
    }
  }
  ASHLAR_ASSIGN_OR_RETURN(model.graph, std::move(graph));
  if (owner != nullptr) model.data_files.push_back(owner);
  return model;
}

std::optional<std::vector<OpenAxis>> OpenAxesIn(absl::StatusOr<std::vector<OpenAxis>> axes) {
  if (!axes.ok()) return std::nullopt;
  return *std::move(axes);
}

constexpr char kInMemory[] = "the model in memory";

// Opens an ONNX model. Its readings at other shapes share `mapped`.
absl::StatusOr<Model> OpenOnnxFile(const ModelSource& source, const OpenOptions& options,
                                   const std::shared_ptr<MappedFiles>& mapped) {
  const auto read = [&](OnnxReadOptions read, Model& model) {
    read.mapped = mapped;
    if (source.piped == nullptr) {
      return ReadOnnx(source.path, read, &model.data_files, &model.reading_bytes);
    }
    model.data_files = {source.piped};
    return ReadOnnxFromBytes(source.piped->bytes(), source.path, read, source.piped,
                             &model.reading_bytes);
  };
  ASHLAR_ASSIGN_OR_RETURN(Model model, OpenOnnx(options, read));
  model.origin = OriginOf(
      options,
      [source, mapped](const OpenOptions& again) { return OpenOnnxFile(source, again, mapped); },
      [source] { return OpenAxesIn(SignatureOf(source)); });
  return model;
}

}  // namespace

absl::StatusOr<Model> OpenModel(const ModelSource& source, const OpenOptions& options) {
  const std::string& path = source.path;
  const auto& piped = source.piped;
  if (source.is_onnx) return OpenOnnxFile(source, options, std::make_shared<MappedFiles>());
  if (source.is_tflite) {
    std::shared_ptr<const MappedFile> file = piped;
    if (file == nullptr) {
      ASHLAR_ASSIGN_OR_RETURN(file, MappedFile::OpenLoaded(path));
    }
    ASHLAR_ASSIGN_OR_RETURN(Model model, OpenTflite(file->bytes(), file, path, options));
    model.origin = OriginOf(
        options, [source](const OpenOptions& again) { return OpenModel(source, again); },
        [file] { return OpenAxesIn(OpenAxesOfTflite(file->bytes())); });
    return model;
  }
  ASHLAR_RETURN_IF_ERROR(CheckKnownKind(source));
  return OpenNative(path, options, [&](ModelFile* file) {
    if (piped != nullptr) return ReadMappedModel(piped, path, file);
    return HasEnding(path, ".json") ? ReadDump(path, options.weights_seed) : ReadModel(path, file);
  });
}

absl::StatusOr<Model> OpenModel(const std::string& path, const OpenOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(const ModelSource source, SourceOf(path));
  return OpenModel(source, options);
}

absl::StatusOr<Model> OpenModelInMemory(absl::Span<const uint8_t> bytes,
                                        const OpenOptions& options) {
  if (HasTfliteMagic(bytes)) {
    ASHLAR_ASSIGN_OR_RETURN(Model model, OpenTflite(bytes, nullptr, kInMemory, options));
    model.origin = OriginOf(
        options, [bytes](const OpenOptions& again) { return OpenModelInMemory(bytes, again); },
        [bytes] { return OpenAxesIn(OpenAxesOfTflite(bytes)); });
    return model;
  }
  if (!HasNativeMagic(bytes)) {
    const auto read = [&](const OnnxReadOptions& read, Model& model) {
      return ReadOnnxFromBytes(bytes, kInMemory, read, nullptr, &model.reading_bytes);
    };
    ASHLAR_ASSIGN_OR_RETURN(Model model, OpenOnnx(options, read));
    model.origin = OriginOf(
        options, [bytes](const OpenOptions& again) { return OpenModelInMemory(bytes, again); },
        [bytes] { return OpenAxesIn(ReadOnnxSignatureFromBytes(bytes, kInMemory)); });
    return model;
  }
  const std::shared_ptr<const void> owner(bytes.data(), [](const void*) {});  // the caller
  Model model;
  model.file.name = kInMemory;
  ASHLAR_ASSIGN_OR_RETURN(
      model.graph, ReadModelFromBytes(bytes, owner, model.file.name, &model.file.fixed_axes));
  ASHLAR_ASSIGN_OR_RETURN(model.packed, ReadPackedModelFromBytes(bytes, owner, model.file.name));
  return model;
}

}  // namespace ashlar
