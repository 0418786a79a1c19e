// Reads tensors of ONNX files, in every form of storage.
#ifndef ASHLAR_SERIALIZATION_ONNX_TENSORS_H_
#define ASHLAR_SERIALIZATION_ONNX_TENSORS_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/tensor.h"
#include "serialization/onnx/external_data.h"

namespace ashlar {

// Returns the dtype in which an ONNX type (onnx::TensorProto::DataType, a plain number in files) is
// computed: Float32 for 16-bit floats. Returns Unimplemented, naming the type, if there is none.
absl::StatusOr<DType> ComputedAs(int64_t onnx_type);
// Returns the dtype of inputs and outputs of a type; `fallback` if there is none.
DType DeclaredAs(int64_t onnx_type, DType fallback);
// Returns e.g. "float16", "int4" or "type 99".
std::string OnnxTypeName(int64_t onnx_type);
// Whether a type is declared as a 16-bit float but read as Float32: float16, bfloat16.
bool IsConverted(int64_t onnx_type);

// Returns a copy of the tensor's value, in the dtype in which it is computed. Errors name the
// tensor.
absl::StatusOr<HostTensor> ReadTensor(const onnx::TensorProto& tensor, ExternalData& external);
// The same, but moves the bytes out of `tensor` if they can be used unchanged.
absl::StatusOr<HostTensor> TakeTensor(onnx::TensorProto& tensor, ExternalData& external);
// Makes the tensor dense. The result may be larger than any file, so `allow` is called first.
absl::StatusOr<HostTensor> ReadSparseTensor(
    const onnx::SparseTensorProto& tensor, ExternalData& external,
    absl::FunctionRef<absl::Status(const Shape& shape, DType dtype)> allow);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_TENSORS_H_
