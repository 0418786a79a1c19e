#include "opr/assign.h"

#include "absl/strings/str_cat.h"
#include "opr/base/checks.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(Assign)

absl::StatusOr<std::vector<TensorType>> Assign::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType& value = inputs[kValue].type;
  const TensorType& state = inputs[kState].type;
  if (value.dtype != state.dtype || value.shape != state.shape ||
      !(value.quantization == state.quantization)) {
    return absl::InvalidArgumentError(
        absl::StrCat("value is ", value.ToString(), ", expected the state's ", state.ToString()));
  }
  return std::vector<TensorType>{state};
}

absl::StatusOr<std::vector<HostTensor>> Assign::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  return std::vector<HostTensor>{inputs[kValue]};
}

Aliasing Assign::aliasing(const Site& /*site*/) const {
  return {.placements = {{0, kValue, 0}}, .updates = {{0, kState}}};
}

}  // namespace ashlar
