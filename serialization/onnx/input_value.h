// Inputs of an ONNX model that become constants, from numbers that a user gives.
#ifndef ASHLAR_SERIALIZATION_ONNX_INPUT_VALUE_H_
#define ASHLAR_SERIALIZATION_ONNX_INPUT_VALUE_H_

#include <onnx/onnx_pb.h>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "serialization/onnx/reader.h"

namespace ashlar {

// Returns the numbers as a tensor of the input's dtype and shape; a shape that the file leaves open
// is that of one number, or of a row. FailedPrecondition, naming the input, if they do not fit.
absl::StatusOr<HostTensor> OnnxInputValue(const onnx::ValueInfoProto& input,
                                          absl::Span<const double> numbers,
                                          const OnnxReadOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_INPUT_VALUE_H_
