#include "opr/immutable_tensor.h"

namespace ashlar {

// A constant's value is not a parameter: loaders use MakeConstant.
template <>
absl::StatusOr<OperatorPtr> MakeOperator<ImmutableTensor>(const ParamList&) {
  return absl::InvalidArgumentError("a constant needs its value");
}

}  // namespace ashlar
