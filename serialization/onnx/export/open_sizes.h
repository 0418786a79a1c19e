// Sizes of a written ONNX model that may change, and their declaration.
//
// Nodes and constants of a written model come from the shapes of its graph: targets of reshapes,
// ends of slices, sizes of a resize. So the model is made for inputs of other sizes, too, and
// compared: a size on which a node or a constant depends is fixed.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXPORT_OPEN_SIZES_H_
#define ASHLAR_SERIALIZATION_ONNX_EXPORT_OPEN_SIZES_H_

#include <onnx/onnx_pb.h>

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "serialization/fixed_axes.h"

namespace ashlar {

// Makes the ONNX model of a graph, with checksums instead of large constants.
using MakeOnnx = absl::FunctionRef<absl::StatusOr<onnx::ModelProto>(const Graph& graph)>;

// Returns the dimensions of the graph's inputs that are not in `axes.fixed`, but on which more than
// shapes depends in its ONNX model. `read` reads that model at other shapes, to compare the values
// of models that differ.
std::vector<FixedAxis> FixedByWriting(const Graph& graph, const FileAxes& axes, MakeOnnx make,
                                      ReadAtShapes read);

// Declares the dimensions `axes.open` of the graph's model by their symbols, unless one with the
// same symbol is fixed: in inputs, outputs and values. Other sizes that change with them become
// unknown.
void DeclareOpen(const Graph& graph, const FileAxes& axes, MakeOnnx make, onnx::ModelProto& model);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXPORT_OPEN_SIZES_H_
