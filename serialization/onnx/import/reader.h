// Reads an ONNX model as a graph.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_READER_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "serialization/mapped_file.h"
#include "serialization/onnx/import/read_options.h"

namespace ashlar {

// Reads operator sets up to 28 (ONNX 1.23). Functions, and branches with a known condition, are
// inlined. Operators that depend only on constants and shapes are evaluated. 16- and 64-bit floats
// become Float32.
//
// Errors name the file:
// - InvalidArgument: not a model, or an invalid one;
// - Unimplemented: lists all missing operators;
// - FailedPrecondition: the options do not suit the model (an unknown name, a dimension that is not
//   fixed).
//
// Large tensors stay in their files; a tensor of 16-bit floats, or at an odd address, is copied
// when it is used.
//
// `files` receives the files to which constants refer. `taken` receives the
// temporary bytes used while reading, in addition to the graph; they depend only on the file and
// the options. Both may be null.
absl::StatusOr<Graph> ReadOnnx(const std::string& path, const OnnxReadOptions& options = {},
                               std::vector<std::shared_ptr<const MappedFile>>* files = nullptr,
                               int64_t* taken = nullptr);

// The same for a file in memory, which errors call `name`. Its external data are options.files.
// Constants refer to the bytes if `owner` keeps them alive; otherwise they are copied.
absl::StatusOr<Graph> ReadOnnxFromBytes(absl::Span<const uint8_t> bytes, const std::string& name,
                                        const OnnxReadOptions& options = {},
                                        const std::shared_ptr<const void>& owner = nullptr,
                                        int64_t* taken = nullptr);

// A tensor as a file declares it; no dims if the file states no shape.
struct OnnxTensor {
  std::string name;
  DType dtype = DType::kFloat32;             // as computed
  std::optional<std::vector<int64_t>> dims;  // -1: open
  std::vector<std::string> symbols;          // names of open dims, by dim; "" if none
};
struct OnnxSignature {
  std::vector<OnnxTensor> inputs, outputs;  // inputs except weights
};

// Reads the inputs and outputs that a file declares, even if the model cannot be planned.
absl::StatusOr<OnnxSignature> ReadOnnxSignature(const std::string& path);
absl::StatusOr<OnnxSignature> ReadOnnxSignatureFromBytes(absl::Span<const uint8_t> bytes,
                                                         const std::string& name);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_READER_H_
