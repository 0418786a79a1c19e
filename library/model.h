// Opens and plans model files for programs. Notes for the user go to a listener; nothing is
// printed.
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
#include "serialization/fixed_axes.h"
#include "serialization/input_shapes.h"
#include "serialization/model_identity.h"
#include "serialization/native/reader.h"
#include "serialization/onnx/import/reader.h"

namespace ashlar {

struct Model;

// The file, or files, that a model's graph was read from, to read them again with other shapes, on
// which more than shapes may depend.
struct ModelOrigin {
  // Inputs that are not listed keep the shapes they were first read with.
  std::function<absl::StatusOr<Model>(const InputShapes&)> reopen;
  // The dimensions that the file leaves open; nullopt: it cannot be read any more.
  std::function<std::optional<std::vector<OpenAxis>>()> open_axes;
};

struct Model {
  Graph graph;
  ModelFile file;                     // the graph's constants borrow from it; empty for a dump
  std::optional<PackedModel> packed;  // from the file; nothing if inputs got other shapes
  // If they did: the packed part of the file, whose weights can be streamed nevertheless.
  struct AtOwnShapes {
    PackedModel packed;
    Graph graph;
  };
  std::shared_ptr<const AtOwnShapes> at_own_shapes;
  std::vector<std::shared_ptr<const MappedFile>> data_files;  // external data; a .tflite file
  int64_t reading_bytes = 0;  // peak bytes used while reading the model (PlanTarget)
  // Set for ONNX and TensorFlow Lite models, and for joined models with one or with fixed
  // dimensions. Otherwise null: then `file` has the dimensions that are fixed.
  std::shared_ptr<const ModelOrigin> origin;
  std::vector<std::string> notes;  // about values that are computed otherwise than the file says
};

// Returns the dimensions of the model's inputs for a file that is written of it. Reads a model with
// an origin several times; if it cannot be read any more, all dimensions are fixed.
FileAxes FileAxesOf(const Model& model);

// Which weights of a native file will be read. Their checksums are verified before anything else
// reads them.
enum class WeightsUse {
  kAsItRuns,  // packed weights if the file has them
  kPlain,     // the graph's; the packed part of the file is not read
  kAll,
  kNone,
};

// Receives notes for the user ("packing anew, as ..."). May be empty.
using NoteListener = std::function<void(const std::string&)>;

struct OpenOptions {
  InputShapes shapes;                                 // replace the shapes in the file
  std::map<std::string, std::vector<double>> values;  // of an ONNX model: values for inputs that
                                                      // become constants
  std::map<std::string, int64_t> bounds;  // of an ONNX model: the most to plan for, of values whose
                                          // sizes depend on data
  std::vector<std::string> outputs;       // of an ONNX model: values to end at; empty: its outputs
  FilesInMemory files;                    // of an ONNX model in memory: its external data
  bool follow_links = false;              // to external data of an ONNX model
  uint64_t weights_seed = 0;              // for a profile dump, which has no weights
  WeightsUse use = WeightsUse::kAsItRuns;
  NoteListener note;
};

// Returns whether a path ends in `ending` (".csv"), ignoring case.
bool HasEnding(const std::string& path, absl::string_view ending);

// A model's file.
struct ModelSource {
  std::string path;
  std::shared_ptr<const MappedFile> piped;  // the content of a pipe, which can be read only once
  // By the file's ending or, if that does not tell, by its first bytes.
  bool is_onnx = false, is_tflite = false;
};

// Returns the source of a model. Reads a pipe to its end; errors are from reading it.
absl::StatusOr<ModelSource> SourceOf(const std::string& path);

// Returns the inputs and outputs that an ONNX source declares.
absl::StatusOr<OnnxSignature> SignatureOf(const ModelSource& source);

// Reads a model (.onnx, .tflite, otherwise Ashlar's own) or a profile dump (.json), and sets the
// requested shapes of its inputs. FailedPrecondition if the options do not match the model;
// ResourceExhausted if memory does not suffice; any other error is the file's.
absl::StatusOr<Model> OpenModel(const ModelSource& source, const OpenOptions& options);
absl::StatusOr<Model> OpenModel(const std::string& path, const OpenOptions& options);

// Opens a model in memory; its first bytes tell the format.
// - Ashlar's format: at a multiple of 64. The bytes must outlive everything made from the model.
//   Checksums are not read, and options are not supported.
// - ONNX and TensorFlow Lite: nothing is borrowed from the bytes, but Model::origin reads them
// again.
absl::StatusOr<Model> OpenModelInMemory(absl::Span<const uint8_t> bytes,
                                        const OpenOptions& options = {});

// Returns the same model for inputs of other shapes, without the packed part of its file. Errors
// are WithInputShapes's and UsePlainWeights's.
absl::StatusOr<Model> WithShapes(Model model, const InputShapes& shapes);

// Removes the packed part of the model's file: from now on the graph's weights are read. Returns an
// error with kDamagedFile if they differ from their checksums.
absl::Status UsePlainWeights(Model& model);

// Returns the model's identity, from the checksums in a native file; the weights are not read.
ModelIdentity IdentityOf(const Model& model);

// Returns the files that constants borrow from.
std::vector<std::shared_ptr<const MappedFile>> FilesOf(const Model& model);

// Returns a function that releases the pages of the model's files after packing has read them.
DoneWith LettingGoOf(const Model& model);

// A planned model: exactly one of the two is set.
struct PlannedModel {
  std::shared_ptr<const Executable> packed;  // its weights are used directly from the file
  std::unique_ptr<PlannedGraph> planned;     // its weights are not packed yet
  const PlannedGraph& plan() const { return packed != nullptr ? packed->planned() : *planned; }
};

// Plans the model. Uses the packed part of the file if it matches the request and fits a total
// budget; otherwise plans anew, with a note that says why. Errors are PlanGraph's, and
// UsePlainWeights's.
absl::StatusOr<PlannedModel> PlanModel(Model model, const PlanRequest& request,
                                       const NoteListener& note);

// Returns the packed part of the model's file that a plan may use; null if there is none.
const PackedModel* PackedFor(const Model& model, const PlanTarget& target);

// Computes the packed part of a file, with which loading packs nothing: the graph rewritten for the
// request, and the weights in the layout of the kernels, packed from the plain ones. Errors are
// UsePlainWeights's and Executable::Compile's.
absl::StatusOr<PackedModel> PackModel(Model& model, PlanRequest request);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_MODEL_H_
