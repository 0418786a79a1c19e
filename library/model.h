// Model files as programs open them: read, and planned. What is worth knowing beside the
// result is told to a listener; nothing is printed.
#ifndef ASHLAR_LIBRARY_MODEL_H_
#define ASHLAR_LIBRARY_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/session/executable.h"
#include "serialization/input_shapes.h"
#include "serialization/model_identity.h"
#include "serialization/native/reader.h"

namespace ashlar {

struct Model {
  Graph graph;
  ModelFile file;                     // from which the graph's constants borrow; nothing for a dump
  std::optional<PackedModel> packed;  // in the file; nothing where inputs got other shapes
  std::vector<std::shared_ptr<const MappedFile>> data_files;  // external data of an ONNX model
  int64_t reading_bytes = 0;  // that reading took for a while, as stated (Wishes)
};

// Which weights of a native file will be read. They are compared with their checksums before
// anything else reads them.
enum class WeightsUse {
  kAsItRuns,  // packed ones where the file has them
  kPlain,     // the graph's; the packed part of the file is not read
  kAll,
  kNone,
};

// A payload of errors of a model's file that are found after it was opened.
inline constexpr char kDamagedFile[] = "ashlar/damaged_file";

// Gets notes for the user ("packing anew, as ..."). May be empty.
using NoteListener = std::function<void(const std::string&)>;

struct OpenOptions {
  InputShapes shapes;                                 // in place of the shapes in the file
  std::map<std::string, std::vector<double>> values;  // of an ONNX model: inputs as constants
  std::vector<std::string> outputs;  // of an ONNX model: values where it ends; none: its outputs
  bool follow_links = false;         // to external data of an ONNX model
  uint64_t weights_seed = 0;         // of a profile dump, which has none
  WeightsUse use = WeightsUse::kAsItRuns;
  NoteListener note;
};

// Whether a path ends in `ending` (".csv"), in whatever case.
bool HasEnding(const std::string& path, absl::string_view ending);

// Returns whether a file is an ONNX model: by its ending, or if that says nothing by its first
// bytes. A pipe has neither; OpenModel reads it.
bool IsOnnxFile(const std::string& path);

// Reads a model (.onnx, else Ashlar's own), or a profile dump (.json), and gives its inputs the
// shapes that were asked for. FailedPrecondition where the options do not go with the model;
// ResourceExhausted where memory does not suffice; any other error is the file's.
absl::StatusOr<Model> OpenModel(const std::string& path, const OpenOptions& options);

// The same of a model in memory, by its first bytes: in Ashlar's format, at a multiple of 64, which
// must outlive all that is made of it, with its weights taken as they are, their checksums unread,
// and without options; or an ONNX file, of which nothing is borrowed.
absl::StatusOr<Model> OpenModelInMemory(absl::Span<const uint8_t> bytes,
                                        const OpenOptions& options = {});

// The same model for inputs of other shapes; the packed part of its file is not for them. Errors
// are WithInputShapes's and UsePlainWeights's.
absl::StatusOr<Model> WithShapes(Model model, const InputShapes& shapes);

// Both as one, whose first half feeds the second (graph/join.h); neither as its file holds it
// packed. Errors are Join's and UsePlainWeights's.
absl::StatusOr<Model> JoinModels(Model first, Model second);

// The model without the packed part of its file: from here on the weights of the graph are read.
// An error with kDamagedFile where these differ from their checksum.
absl::Status UsePlainWeights(Model& model);

// By the checksums that a native file has of its weights, which are not read for it.
ModelIdentity IdentityOf(const Model& model);

// The files that constants borrow from.
std::vector<std::shared_ptr<const MappedFile>> FilesOf(const Model& model);

// Lets go of the pages of the model's files that packing has read.
DoneWith LettingGoOf(const Model& model);

// A model planned: one of the two.
struct PlannedModel {
  std::shared_ptr<const Executable> packed;  // its weights are used where they lie in the file
  std::unique_ptr<PlannedGraph> planned;     // its weights are still to be packed
  const PlannedGraph& plan() const { return packed != nullptr ? packed->planned() : *planned; }
};

// As the file has it packed where that suits, within a total budget too, else anew, with a note
// that says why. Errors are PlanGraph's, and UsePlainWeights's.
absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request,
                                       const NoteListener& note);

// What a file holds beside the model, so that loading packs nothing: its graph as the request
// rewrites it, and its weights as the kernels want them. They are packed from the plain ones.
// Errors are UsePlainWeights's and Executable::Compile's.
absl::StatusOr<PackedModel> PackModel(Model& model, PlanRequest request);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_MODEL_H_
