// ImmutableTensor: a constant.
#ifndef ASHLAR_OPR_IMMUTABLE_TENSOR_H_
#define ASHLAR_OPR_IMMUTABLE_TENSOR_H_

#include "opr/base/held_tensor.h"

namespace ashlar {

class ImmutableTensor final : public HeldTensor {
 public:
  using HeldTensor::HeldTensor;
  ASHLAR_OPERATOR_NAMES("ImmutableTensor", "const")
  Role role() const override { return Role::kConstant; }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_IMMUTABLE_TENSOR_H_
