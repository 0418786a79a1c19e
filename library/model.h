// An open model: its graph, the files that its constants lie in, and other shapes of it.
#ifndef ASHLAR_LIBRARY_MODEL_H_
#define ASHLAR_LIBRARY_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/session/executable.h"
#include "serialization/fixed_axes.h"
#include "serialization/input_shapes.h"
#include "serialization/model_identity.h"
#include "serialization/native/reader.h"
#include "serialization/onnx/import/reader.h"

namespace ashlar {

// Receives notes for the user ("packing anew, as ..."). May be empty.
using NoteListener = std::function<void(const std::string&)>;

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
  bool channels_last = false;      // its images are {N,H,W,C}: a TensorFlow Lite file, or as asked
  std::vector<std::string> notes;  // about values that are computed otherwise than the file says
};

// Returns the dimensions of the model's inputs for a file that is written of it. Reads a model with
// an origin several times; if it cannot be read any more, all dimensions are fixed.
FileAxes FileAxesOf(const Model& model);

// Returns the same model for inputs of other shapes, without the packed part of its file. Errors
// are WithInputShapes's and UsePlainWeights's.
absl::StatusOr<Model> WithShapes(Model model, const InputShapes& shapes);

// Gives inputs other shapes. For a model without an origin; its weights are not checked.
absl::Status Reshape(Model& model, const InputShapes& shapes);

// Removes the packed part of the model's file: from now on the graph's weights are read, except
// those at the addresses `unread`. Returns an error with kDamagedFile if they differ from their
// checksums.
absl::Status UsePlainWeights(Model& model, const absl::flat_hash_set<const void*>& unread = {});

// Returns the model's identity, from the checksums in a native file; the weights are not read.
ModelIdentity IdentityOf(const Model& model);

// Returns the files that constants borrow from.
std::vector<std::shared_ptr<const MappedFile>> FilesOf(const Model& model);

// Returns a function that releases the pages of the model's files after packing has read them.
DoneWith LettingGoOf(const Model& model);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_MODEL_H_
