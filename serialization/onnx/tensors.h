// Tensors of ONNX files, in every way in which they may be stored.
#ifndef ASHLAR_SERIALIZATION_ONNX_TENSORS_H_
#define ASHLAR_SERIALIZATION_ONNX_TENSORS_H_

#include <onnx/onnx_pb.h>

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/tensor.h"
#include "serialization/onnx/external_data.h"

namespace ashlar {

// The dtype in which a type of ONNX (onnx::TensorProto::DataType, which is a mere number in files)
// is computed: Float32 for floats of 16 bits. Unimplemented names a type that there is no dtype
// for.
absl::StatusOr<DType> ComputedAs(int onnx_type);
// Returns the dtype of inputs and outputs of a type, `fallback` if there is none.
DType DeclaredAs(int onnx_type, DType fallback);
// "float16", "int4", "type 99".
std::string OnnxTypeName(int onnx_type);
// Returns whether a type is read as Float32 but declared as another: float16, bfloat16.
bool IsConverted(int onnx_type);

// The tensor's value, in the dtype it is computed in; a copy. Errors name the tensor.
absl::StatusOr<HostTensor> ReadTensor(const onnx::TensorProto& tensor, ExternalData& external);
// The same, but takes the bytes out of `tensor` where they can be used as they are.
absl::StatusOr<HostTensor> TakeTensor(onnx::TensorProto& tensor, ExternalData& external);
// Made dense, which may be larger than any file: `allow` is asked first.
absl::StatusOr<HostTensor> ReadSparseTensor(
    const onnx::SparseTensorProto& tensor, ExternalData& external,
    absl::FunctionRef<absl::Status(const Shape& shape, DType dtype)> allow);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_TENSORS_H_
