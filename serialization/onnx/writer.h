// Writes a graph as an ONNX model, weights and all, for other programs to run and to show.
#ifndef ASHLAR_SERIALIZATION_ONNX_WRITER_H_
#define ASHLAR_SERIALIZATION_ONNX_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace ashlar {

// Operator set 13, or 20 where 13 lacks something. What they have no operator for is written as the
// operators that it is made of, where it is made of any. Inputs and outputs keep their binding
// names; nodes and values have the graph's names, made unique. What only computes a shape is left
// out: shapes are constants in the model. Unimplemented names all that ONNX cannot express at once;
// InvalidArgument for a model beyond the 2 GiB that a protobuf message can have.
absl::Status WriteOnnx(const Graph& graph, const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_WRITER_H_
