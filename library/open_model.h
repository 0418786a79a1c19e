// Opens model files for programs. Notes for the user go to a listener; nothing is printed.
#ifndef ASHLAR_LIBRARY_OPEN_MODEL_H_
#define ASHLAR_LIBRARY_OPEN_MODEL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "library/model.h"
#include "library/model_source.h"

namespace ashlar {

// Which weights of a native file will be read. Their checksums are verified before anything else
// reads them.
enum class WeightsUse {
  kAsItRuns,  // packed weights if the file has them
  kPlain,     // the graph's; the packed part of the file is not read
  kAll,
  kNone,
};

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

// Reads a model (.onnx, .tflite, otherwise Ashlar's own) or a profile dump (.json), and sets the
// requested shapes of its inputs. FailedPrecondition if the options do not match the model;
// ResourceExhausted if memory does not suffice; any other error is the file's.
absl::StatusOr<Model> OpenModel(const ModelSource& source, const OpenOptions& options);
absl::StatusOr<Model> OpenModel(const std::string& path, const OpenOptions& options);

// Opens a model in memory; its first bytes tell the format.
// - Ashlar's format: at a multiple of 64. The bytes must outlive everything made from the model.
//   Checksums are not read, and options are not supported.
// - ONNX and TensorFlow Lite: nothing is borrowed from the bytes, but Model::origin reads them
//   again.
absl::StatusOr<Model> OpenModelInMemory(absl::Span<const uint8_t> bytes,
                                        const OpenOptions& options = {});

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_OPEN_MODEL_H_
