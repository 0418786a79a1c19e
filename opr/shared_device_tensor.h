// SharedDeviceTensor: a tensor that lives as long as a session, such as a weight in training.
#ifndef ASHLAR_OPR_SHARED_DEVICE_TENSOR_H_
#define ASHLAR_OPR_SHARED_DEVICE_TENSOR_H_

#include "opr/base/held_tensor.h"

namespace ashlar {

// Its value is the one before the first run; updates (opr/update.h) change it.
class SharedDeviceTensor final : public HeldTensor {
 public:
  using HeldTensor::HeldTensor;
  ASHLAR_OPERATOR_NAMES("SharedDeviceTensor", "shared")
  Role role() const override { return Role::kState; }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_SHARED_DEVICE_TENSOR_H_
