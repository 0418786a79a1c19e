// Reads a TensorFlow Lite model as a graph.
#ifndef ASHLAR_SERIALIZATION_TFLITE_IMPORT_READER_H_
#define ASHLAR_SERIALIZATION_TFLITE_IMPORT_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "serialization/fixed_axes.h"
#include "serialization/input_shapes.h"
#include "serialization/mapped_file.h"

namespace ashlar {

struct TfliteReadOptions {
  InputShapes shapes = {};  // replace the file's
  // The tensors at which the graph ends; none: the file's outputs.
  std::vector<std::string> outputs = {};
  // Limits on constants computed or copied while reading, and on the operations for them.
  int64_t most_folded_bytes = int64_t{1} << 31;
  int64_t most_folded_operations = int64_t{1} << 32;
};

// Whether a file that begins with these bytes is a TensorFlow Lite model.
bool HasTfliteMagic(absl::Span<const uint8_t> bytes);

// Reads the first subgraph. Inputs and outputs keep the file's names, dtypes and order of
// dimensions, {N,H,W,C} for images. Tensors of 8 bits with a scale become quantised vars, and
// 16-bit floats become Float32.
//
// Errors name the file and, where there is one, the operator:
// - InvalidArgument: not a model, or an invalid one;
// - Unimplemented: lists all missing operators, or says what an operator lacks;
// - FailedPrecondition: the options do not suit the model (an unknown name, an open dimension).
//
// Constants share the bytes with `owner`; if it is null, they are copied. `taken` receives the
// temporary bytes used while reading, in addition to the graph; it may be null.
absl::StatusOr<Graph> ReadTflite(absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner,
                                 const std::string& name, const TfliteReadOptions& options = {},
                                 int64_t* taken = nullptr);

// Returns the dimensions of the inputs that the file leaves open.
absl::StatusOr<std::vector<OpenAxis>> OpenAxesOfTflite(absl::Span<const uint8_t> bytes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_IMPORT_READER_H_
