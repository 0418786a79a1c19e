// Reads an ONNX model as a graph.
#ifndef ASHLAR_SERIALIZATION_ONNX_READER_H_
#define ASHLAR_SERIALIZATION_ONNX_READER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "serialization/mapped_file.h"

namespace ashlar {

struct OnnxReadOptions {
  // Of inputs, by name: they replace those of the file. A weight that the file lists among its
  // inputs becomes one where it has a shape here.
  std::map<std::string, Shape> shapes = {};
  // Of inputs, which become constants.
  std::map<std::string, HostTensor> values = {};
  // The same as numbers, which are stored in the input's dtype and shape.
  std::map<std::string, std::vector<double>> numbers = {};
  // The values where the graph ends; none: its outputs.
  std::vector<std::string> outputs = {};
  // Of constants that are computed while reading: a small file must not cost much, and weights may
  // take as much as a file without external data can hold.
  int64_t most_folded_bytes = int64_t{1} << 31;
  int64_t most_folded_operations = int64_t{1} << 32;
  // Follow symbolic links to files of external data.
  bool follow_links = false;
  // Told what a user should know of a model that can be read. May be empty.
  std::function<void(const std::string&)> note = {};
};

// Operator sets up to 28 (ONNX 1.23). Functions and conditions that are known are inlined; what
// depends on constants and shapes alone is computed. 16- and 64-bit floats become Float32.
//
// Errors name the file: InvalidArgument where it is no model, or a wrong one; Unimplemented lists
// all operators that are missing; FailedPrecondition where the options do not suit the model (a
// name that it lacks, a dimension that is not fixed).
//
// `files` receives the files of external data, which constants borrow from, `taken` the bytes that
// reading takes for a while beside the graph, as they are stated: equal files and options take as
// many. Both may be null.
absl::StatusOr<Graph> ReadOnnx(const std::string& path, const OnnxReadOptions& options = {},
                               std::vector<std::shared_ptr<const MappedFile>>* files = nullptr,
                               int64_t* taken = nullptr);

// The same of a file in memory, which is `name` in errors and has no external data.
absl::StatusOr<Graph> ReadOnnxFromBytes(absl::Span<const uint8_t> bytes, const std::string& name,
                                        const OnnxReadOptions& options = {},
                                        int64_t* taken = nullptr);

// A tensor as a file declares it: without dims if nothing is said of its shape.
struct OnnxTensor {
  std::string name;
  DType dtype = DType::kFloat32;             // as it is computed
  std::optional<std::vector<int64_t>> dims;  // -1: open
};
struct OnnxSignature {
  std::vector<OnnxTensor> inputs, outputs;  // inputs without weights
};

// Reads the inputs and outputs that a file declares, whether or not the model can be planned.
absl::StatusOr<OnnxSignature> ReadOnnxSignature(const std::string& path);
absl::StatusOr<OnnxSignature> ReadOnnxSignatureFromBytes(absl::Span<const uint8_t> bytes,
                                                         const std::string& name);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_READER_H_
