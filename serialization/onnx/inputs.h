// The inputs of an ONNX model, with shapes that are fixed.
#ifndef ASHLAR_SERIALIZATION_ONNX_INPUTS_H_
#define ASHLAR_SERIALIZATION_ONNX_INPUTS_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "absl/status/statusor.h"
#include "graph/shape.h"
#include "serialization/onnx/reader.h"

namespace ashlar {

// The dtype and shape of an input: of the options, else of the file. Unimplemented for what is no
// tensor of a dtype; FailedPrecondition where a dimension other than the first is not fixed, with
// the option that fixes it.
absl::StatusOr<TensorType> OnnxInputType(const onnx::ValueInfoProto& input,
                                         const OnnxReadOptions& options);

// A note where the type that a file declares for a result is another one.
void NoteOnnxType(const onnx::ValueInfoProto& declared, const TensorType& type,
                  const OnnxReadOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_INPUTS_H_
