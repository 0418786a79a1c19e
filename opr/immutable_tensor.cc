#include "opr/immutable_tensor.h"

namespace ashlar {

// A constant's value does not travel as a parameter: loaders make it with MakeConstant.
template <>
absl::StatusOr<OperatorPtr> MakeOperator<ImmutableTensor>(const ParamList&) {
  return absl::InvalidArgumentError("a constant needs its value");
}

}  // namespace ashlar
