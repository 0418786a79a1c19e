// Writes a graph with its weights as an ONNX model, for other programs to run and display.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXPORT_WRITER_H_
#define ASHLAR_SERIALIZATION_ONNX_EXPORT_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "runtime/plan/record/packed_model.h"
#include "serialization/fixed_axes.h"

namespace ashlar {

// Writes operator set 13, or 20 if 13 lacks something. An operator without a counterpart is written
// as its composition, if it has one. Inputs and outputs keep their binding names; nodes and values
// have the graph's names, made unique. Operators that only compute shapes are left out: shapes are
// constants in the model. Returns Unimplemented with everything that ONNX cannot express. Returns
// InvalidArgument for a model above 2 GiB, the limit of a protobuf message.
//
// Dimensions of inputs on which nodes or constants depend are listed in the metadata, with
// `axes.fixed`: the reader refuses other sizes of them. The others of `axes.open` are declared by
// their symbols (open_sizes.h), and the metadata has the graph's sizes, which the reader takes if
// no others are given.
//
// Calls `done_with` for pieces of the constants after reading them, once or several times.
absl::Status WriteOnnx(const Graph& graph, const std::string& path, const FileAxes& axes = {},
                       const DoneWith& done_with = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXPORT_WRITER_H_
