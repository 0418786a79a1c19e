// Checks of inputs that several operators share.
#ifndef ASHLAR_OPR_BASE_CHECKS_H_
#define ASHLAR_OPR_BASE_CHECKS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/operator.h"
#include "graph/shape.h"

namespace ashlar {

// InvalidArgument if the tensor has no elements; `name` is the input's in messages.
absl::Status CheckNotEmpty(absl::string_view name, const TensorType& type);

// Like CheckNotEmpty, but accepts any tensor if the output has no elements.
absl::Status CheckMadeOfElements(absl::string_view name, const TensorType& type,
                                 const Shape& output);

// InvalidArgument unless the tensor has dtype `dtype`.
absl::Status CheckDType(absl::string_view name, const TensorType& type, DType dtype);

inline absl::Status CheckFloat32(absl::string_view name, const TensorType& type) {
  return CheckDType(name, type, DType::kFloat32);
}

// InvalidArgument unless the tensor has this dtype and shape.
absl::Status CheckType(absl::string_view name, const TensorType& type, const TensorType& expected);

// InvalidArgument unless `diff`, the gradient of an output in an operator's backward, has that
// output's shape and the dtype; `whose` as in "the pooling's".
absl::Status CheckDiff(const TensorType& diff, DType dtype, const Shape& output,
                       absl::string_view whose);

// InvalidArgument unless the elements are floats.
absl::Status CheckFloat(absl::string_view name, const TensorType& type);

// InvalidArgument unless the tensor is [N, C, H, W] with floats.
absl::Status CheckImage(absl::string_view name, const TensorType& type);

// InvalidArgument unless the tensor is [N, C, H, W] with a quantised 8-bit dtype.
absl::Status CheckBytesImage(absl::string_view name, const TensorType& type);

// Evaluates an operator with 16-bit floating-point inputs in Float32, and rounds to input 0's
// dtype.
absl::StatusOr<std::vector<HostTensor>> EvaluateRounded(const Operator& op,
                                                        absl::Span<const HostTensor> inputs);

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_CHECKS_H_
