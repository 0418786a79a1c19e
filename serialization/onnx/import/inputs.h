// The inputs of an ONNX model, with fixed shapes.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_INPUTS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_INPUTS_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "absl/status/statusor.h"
#include "graph/shape.h"
#include "serialization/onnx/import/read_options.h"

namespace ashlar {

// Returns the dtype and shape of an input, from the options, otherwise from the file. Returns
// Unimplemented for an input that is not a tensor of a supported dtype. Returns FailedPrecondition,
// naming the option to use, if a dimension other than the first is not fixed.
absl::StatusOr<TensorType> OnnxInputType(const onnx::ValueInfoProto& input,
                                         const OnnxReadOptions& options);

// Adds a note if the file declares a different type for a result.
void NoteOnnxType(const onnx::ValueInfoProto& declared, const TensorType& type,
                  const OnnxReadOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_INPUTS_H_
