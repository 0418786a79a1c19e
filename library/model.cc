#include "library/model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/packed_parts.h"
#include "runtime/plan/stages/memory_need.h"
#include "serialization/megengine/import.h"
#include "serialization/native/format.h"
#include "serialization/native/packed_pool.h"
#include "serialization/onnx/import/reader.h"
#include "serialization/standard_input.h"
#include "serialization/tflite/import/reader.h"

namespace ashlar {

bool HasEnding(const std::string& path, absl::string_view ending) {
  return absl::EndsWithIgnoreCase(path, ending);
}

namespace {

constexpr size_t kFirstBytes = 64;
constexpr int64_t kMostPipedBytes = int64_t{1} << 31;  // as many as an ONNX file can have

// Returns the first bytes of a file, or none if it cannot be read, which its reader reports.
std::string FirstBytesOf(const ModelSource& source) {
  if (source.piped != nullptr) {
    const absl::Span<const uint8_t> bytes =
        source.piped->bytes().first(std::min(source.piped->bytes().size(), kFirstBytes));
    return std::string(bytes.begin(), bytes.end());
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(source.path, error)) return "";
  std::ifstream file(source.path, std::ios::binary);
  std::string bytes(kFirstBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// Returns whether a file that begins so is an ONNX model. A ModelProto begins with its first field,
// the IR version: 8, then a small number and the next field (producer_name, graph, opset_import).
bool BeginsOnnx(absl::string_view bytes) {
  constexpr int kOldestIrVersion = 3;  // versions 1 and 2 belong to a TensorFlow SavedModel
  constexpr int kFirstOfTwoBytes = 128;
  constexpr int kLengthDelimited = 2;  // the wire type of names and messages
  if (bytes.size() < 3 || bytes[0] != 8) return false;
  const int version = static_cast<unsigned char>(bytes[1]);
  return version >= kOldestIrVersion && version < kFirstOfTwoBytes &&
         (bytes[2] & 7) == kLengthDelimited;
}

bool BeginsTflite(absl::string_view bytes) {
  return HasTfliteMagic({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

// Returns InvalidArgument for a model of another program, by its first bytes.
absl::Status CheckKnownKind(const std::string& path, absl::string_view bytes) {
  constexpr absl::string_view kSavedModel("\x08\x01\x12", 3);  // version 1, then a graph
  const struct {
    size_t at;
    absl::string_view begins;
    const char* kind;
    const char* ending = "";  // without which the bytes alone say too little
  } kinds[] = {
      {4, "ORTM", "a model in ONNX Runtime's own format"},
      {0, "PK\3\4", "a PyTorch or Keras file (or another zip archive)"},
      {0, "\x80\x02", "a PyTorch file (pickled)"},
      {0, "\x89HDF", "a Keras model (HDF5)"},
      {0, "<?xml", "an OpenVINO model (XML)"},
      {0, "<net", "an OpenVINO model (XML)"},
      {0, "GGUF", "a GGUF file"},
      {0, kSavedModel, "a TensorFlow model", ".pb"},
      {0, "\n", "a TensorFlow model", ".pb"},  // a GraphDef, whose nodes come first
  };
  for (const auto& kind : kinds) {
    if (bytes.size() < kind.at || !absl::StartsWith(bytes.substr(kind.at), kind.begins)) continue;
    if (!HasEnding(path, kind.ending)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", kind.kind, ", which is not read here; export it as ONNX"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelSource> SourceOf(const std::string& path) {
  ModelSource source;
  source.path = path;
  if (IsPipe(path)) {
    ASHLAR_ASSIGN_OR_RETURN(source.piped, MapFileOrPipe(path, kMostPipedBytes));
    const std::string begin = FirstBytesOf(source);
    source.is_onnx = BeginsOnnx(begin);
    source.is_tflite = BeginsTflite(begin);
    return source;
  }
  for (const char* ending : {".ash", ".json", ".csv", ".plan"}) {
    if (HasEnding(path, ending)) return source;
  }
  const std::string begin = FirstBytesOf(source);
  source.is_tflite = HasEnding(path, ".tflite") || BeginsTflite(begin);
  source.is_onnx = !source.is_tflite && (HasEnding(path, ".onnx") || BeginsOnnx(begin));
  return source;
}

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

// Returns the graph for inputs of other shapes, unless dimensions that change are fixed.
absl::StatusOr<Graph> Reshaped(const Model& model, const InputShapes& shapes) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, WithInputShapes(model.graph, shapes));
  for (const Binding& input : model.graph.inputs()) {
    const Shape& shape = model.graph.var(input.var).type.shape;
    ASHLAR_RETURN_IF_ERROR(CheckFixedAxes(input.name, shape, model.file.fixed_axes, shapes));
  }
  return graph;
}

absl::Status Damaged(absl::Status status) {
  if (!status.ok()) status.SetPayload(kDamagedFile, absl::Cord());
  return status;
}

// Compares the graph's weights with their checksums, all but `unread`.
absl::Status CheckPlainWeights(const absl::flat_hash_set<const void*>& unread, const Model& model) {
  if (model.file.mapping == nullptr) return absl::OkStatus();
  return Damaged(CheckWeights(model.file, unread));
}

// Gives the model's inputs other shapes.
absl::Status Reshape(Model& model, const InputShapes& shapes) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, Reshaped(model, shapes));
  if (model.packed) {
    model.at_own_shapes = std::make_shared<const Model::AtOwnShapes>(
        Model::AtOwnShapes{*std::move(model.packed), model.graph});
    model.packed.reset();
  }
  model.graph = std::move(graph);
  return absl::OkStatus();
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

void Tell(const NoteListener& note, const std::string& text) {
  if (note) note(text);
}

}  // namespace

absl::StatusOr<OnnxSignature> SignatureOf(const ModelSource& source) {
  return source.piped != nullptr ? ReadOnnxSignatureFromBytes(source.piped->bytes(), source.path)
                                 : ReadOnnxSignature(source.path);
}

namespace {

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
      ASHLAR_ASSIGN_OR_RETURN(file, MappedFile::Open(path));
      ASHLAR_RETURN_IF_ERROR(file->LoadAll());
    }
    ASHLAR_ASSIGN_OR_RETURN(Model model, OpenTflite(file->bytes(), file, path, options));
    model.origin = OriginOf(
        options, [source](const OpenOptions& again) { return OpenModel(source, again); },
        [file] { return OpenAxesIn(OpenAxesOfTflite(file->bytes())); });
    return model;
  }
  ASHLAR_RETURN_IF_ERROR(CheckKnownKind(path, FirstBytesOf(source)));
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

FileAxes FileAxesOf(const Model& model) {
  if (model.origin == nullptr) return {model.file.fixed_axes, {}};
  const std::optional<std::vector<OpenAxis>> open = model.origin->open_axes();
  FileAxes all;
  if (!open) {
    for (const OpenAxis& axis : AxesOf(model.graph, {})) {
      all.fixed.push_back({axis.input, axis.axis, ""});
    }
    return all;
  }
  const auto read = [&](const InputShapes& shapes) -> absl::StatusOr<Graph> {
    ASHLAR_ASSIGN_OR_RETURN(Model model_read, model.origin->reopen(shapes));
    return std::move(model_read.graph);
  };
  // Sizes that the file declares may change, too.
  return {FixedByReading(model.graph, AxesOf(model.graph, *open), read), *open};
}

absl::StatusOr<Model> WithShapes(Model model, const InputShapes& shapes) {
  if (model.origin != nullptr) return model.origin->reopen(shapes);
  const bool packed = model.packed.has_value();
  ASHLAR_RETURN_IF_ERROR(Reshape(model, shapes));
  if (packed) ASHLAR_RETURN_IF_ERROR(CheckPlainWeights({}, model));
  return model;
}

namespace {

// UsePlainWeights, of which some are not used.
absl::Status UsePlainWeightsBut(const absl::flat_hash_set<const void*>& unread, Model& model) {
  model.at_own_shapes.reset();
  if (!model.packed) return absl::OkStatus();
  model.packed.reset();
  return CheckPlainWeights(unread, model);
}

}  // namespace

absl::Status UsePlainWeights(Model& model) { return UsePlainWeightsBut({}, model); }

ModelIdentity IdentityOf(const Model& model) {
  if (model.file.mapping == nullptr) return IdentityOf(model.graph);
  return IdentityOf(model.graph, RecordedChecksums(model.file));
}

std::vector<std::shared_ptr<const MappedFile>> FilesOf(const Model& model) {
  std::vector<std::shared_ptr<const MappedFile>> files = model.data_files;
  if (model.file.mapping != nullptr) files.push_back(model.file.mapping);
  return files;
}

DoneWith LettingGoOf(const Model& model) {
  std::vector<std::shared_ptr<const MappedFile>> files = FilesOf(model);
  if (files.empty()) return nullptr;
  return [files = std::move(files)](const void* data, int64_t bytes) {
    for (const auto& file : files) file->DropResidentPages(data, bytes);
  };
}

namespace {

// An error of a budget, which names no model.
absl::Status OfModel(const std::string& name, const absl::Status& status) {
  const std::optional<int64_t> bytes = NeededBytes(status);
  return bytes && !name.empty() ? WithNeededBytes(Annotate(status, name), *bytes) : status;
}

// FailedPrecondition where weights that were packed before do not fit a budget for the total; of
// streamed weights ResourceExhausted, because no other plan streams them.
absl::StatusOr<std::shared_ptr<const Executable>> WithinTotal(
    std::shared_ptr<const Executable> packed, const PlanRequest& request) {
  const std::optional<TotalBudget>& total = request.target.total;
  if (!total) return packed;
  const MemoryNeed need = NeedOf(packed->planned(), total->process_bytes, /*in_file=*/true);
  if (need.total() <= total->bytes) return packed;
  const std::string message =
      absl::StrCat("as it is packed it takes ", need.total(), " bytes (", need.ToString(),
                   "), more than the total budget of ", total->bytes);
  return request.target.weights_budget ? DoesNotFit(message, need.total())
                                       : absl::FailedPreconditionError(message);
}

bool FitsTotal(const absl::StatusOr<std::unique_ptr<PlannedGraph>>& planned,
               const TotalBudget& total) {
  if (!planned.ok()) return !absl::IsResourceExhausted(planned.status());
  return NeedOf(**planned, total.process_bytes).total() <= total.bytes;
}

// Streams packed weights in the bytes that a budget for the total leaves for them.
absl::StatusOr<std::shared_ptr<const Executable>> StreamedWithinTotal(const PackedModel& packed,
                                                                      PlanRequest request) {
  PlanRequest whole = request;
  whole.target.total.reset();
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::FromPacked(packed, whole));
  const MemoryNeed need =
      NeedOf(executable->planned(), request.target.total->process_bytes, /*in_file=*/true);
  request.target.weights_budget = request.target.total->bytes - (need.total() - need.file);
  ASHLAR_ASSIGN_OR_RETURN(executable, Executable::FromPacked(packed, request));
  return WithinTotal(std::move(executable), request);
}

// Returns the addresses of the constants that nobody reads, because their only reader finds them
// packed in the file.
absl::flat_hash_set<const void*> UnreadConstants(const Graph& model, const PlannedGraph& planned) {
  absl::flat_hash_map<const void*, size_t> readers;
  for (const OperatorNode& node : model.nodes()) {
    if (node.constant == nullptr) continue;
    readers[node.constant->raw()] += model.readers(node.outputs[0]).size();
  }
  absl::flat_hash_set<const void*> unread, read;
  for (const WeightEntry& entry : planned.weights.entries) {
    const void* const bytes = planned.graph.constant(entry.var)->source().raw();
    const bool found = entry.packed != nullptr && readers[bytes] == 1;
    (found ? unread : read).insert(bytes);
  }
  for (const void* bytes : read) unread.erase(bytes);
  return unread;
}

// The packed part of the file, or for a recorded plan as much of it as that plan packs alike;
// neither, with a note that says why, where it does not suit.
absl::StatusOr<PlannedModel> FromPacked(Model& model, const PlanRequest& request,
                                        const NoteListener& note) {
  PlannedModel result;
  if (PackedFor(model, request.target) == nullptr) return result;
  if (!model.packed) {
    const Model::AtOwnShapes& own = *model.at_own_shapes;
    if (model.file.mapping != nullptr) {
      ASHLAR_RETURN_IF_ERROR(Damaged(CheckPackedWeights(model.file)));
    }
    absl::StatusOr<PackedModel> packed = PackedAtShapes(own.packed, own.graph, model.graph);
    if (!packed.ok()) return Annotate(packed.status(), model.file.name);
    model.packed = *std::move(packed);
  }
  const PackedModel packed = *model.packed;
  absl::StatusOr<std::shared_ptr<const Executable>> executable =
      Executable::FromPacked(packed, request);
  if (executable.ok()) executable = WithinTotal(*std::move(executable), request);
  if (executable.ok()) {
    result.packed = *std::move(executable);
    return result;
  }
  if (!absl::IsFailedPrecondition(executable.status())) {
    return OfModel(model.file.name, executable.status());
  }
  if (request.target.weights_budget) {  // weights that are packed anew cannot be streamed
    return Annotate(executable.status(), model.file.name);
  }
  if (request.planning.recorded != nullptr) {
    absl::StatusOr<std::unique_ptr<PlannedGraph>> planned =
        PlanWithPackedParts(packed, Graph(model.graph), request);
    if (planned.ok()) {
      ASHLAR_RETURN_IF_ERROR(UsePlainWeightsBut(UnreadConstants(model.graph, **planned), model));
      result.planned = *std::move(planned);
      return result;
    }
    if (!absl::IsFailedPrecondition(planned.status())) return planned.status();
  }
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
  Tell(note, absl::StrCat(model.file.name, ": ", executable.status().message(), "; packing anew"));
  for (const auto& file : FilesOf(model)) file->DropResidentPages();
  return result;
}

}  // namespace

const PackedModel* PackedFor(const Model& model, const PlanTarget& target) {
  if (model.packed) return &*model.packed;
  const bool streams = model.at_own_shapes != nullptr && target.weights_budget;
  return streams ? &model.at_own_shapes->packed : nullptr;
}

absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request,
                                       const NoteListener& note) {
  std::optional<PackedModel> packed;
  if (request.target.total && !request.target.weights_budget) packed = model.packed;
  ASHLAR_ASSIGN_OR_RETURN(PlannedModel result, FromPacked(model, request, note));
  if (result.packed != nullptr || result.planned != nullptr) return result;
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned =
      PlanGraph(std::move(model.graph), request);
  if (packed && !FitsTotal(planned, *request.target.total)) {
    if (auto streamed = StreamedWithinTotal(*packed, request); streamed.ok()) {
      Tell(note, absl::StrCat(model.file.name, ": streams its packed weights after all"));
      result.packed = *std::move(streamed);
      return result;
    }
  }
  if (!planned.ok()) return OfModel(model.file.name, planned.status());
  result.planned = *std::move(planned);
  return result;
}

namespace {

// Chooses the weights that a budget for them streams best.
absl::Status PackForWindow(const Model& model, PlanRequest& request) {
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned = PlanGraph(model.graph, request);
  if (!planned.ok()) return OfModel(model.file.name, planned.status());
  request = (*planned)->SettledRequest();
  request.target.budget.reset();
  request.target.weights_budget.reset();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PackedModel> PackModel(Model& model, PlanRequest request) {
  request.target.tuned_tiles = false;  // which are for a number of threads, and files for any
  ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
  if (request.target.weights_budget) {
    ASHLAR_RETURN_IF_ERROR(PackForWindow(model, request));
  }
  absl::StatusOr<std::unique_ptr<PlannedGraph>> planned = PlanGraph(model.graph, request);
  if (!planned.ok()) return OfModel(model.file.name, planned.status());
  return Executable::ToPacked(*std::move(planned), LettingGoOf(model));
}

}  // namespace ashlar
