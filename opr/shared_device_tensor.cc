#include "opr/shared_device_tensor.h"

namespace ashlar {

// As a constant's, its value does not travel as a parameter: OperatorTable::MakeState.
template <>
absl::StatusOr<OperatorPtr> MakeOperator<SharedDeviceTensor>(const ParamList&) {
  return absl::InvalidArgumentError("a state needs its first value");
}

}  // namespace ashlar
