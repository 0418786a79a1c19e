// Inputs of an ONNX model that become constants, from numbers given by the user.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_INPUT_VALUE_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_INPUT_VALUE_H_

#include <onnx/onnx_pb.h>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "serialization/onnx/import/read_options.h"

namespace ashlar {

// Returns the numbers as a tensor of the input's dtype and shape. If the file leaves the shape
// open, it is a scalar or a row. Returns FailedPrecondition, naming the input, if the numbers do
// not fit.
absl::StatusOr<HostTensor> OnnxInputValue(const onnx::ValueInfoProto& input,
                                          absl::Span<const double> numbers,
                                          const OnnxReadOptions& options);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_INPUT_VALUE_H_
