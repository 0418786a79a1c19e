// Reads an ONNX model, node by node.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_GRAPH_READER_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_GRAPH_READER_H_

#include <onnx/onnx_pb.h>

#include "graph/graph.h"
#include "serialization/onnx/external_data.h"
#include "serialization/onnx/import/read_options.h"

namespace ashlar {

// Like ReadOnnx. Moves the weights out of the model. `folded_bytes` receives the bytes of computed
// constants.
absl::StatusOr<Graph> ReadOnnxGraph(onnx::ModelProto& model, const OnnxReadOptions& options,
                                    ExternalData& external, int64_t& folded_bytes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_GRAPH_READER_H_
