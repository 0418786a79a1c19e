#include "opr/shared_device_tensor.h"

namespace ashlar {

// The value is not a parameter: use OperatorTable::MakeState.
template <>
absl::StatusOr<OperatorPtr> MakeOperator<SharedDeviceTensor>(const ParamList&) {
  return absl::InvalidArgumentError("a state needs its first value");
}

}  // namespace ashlar
