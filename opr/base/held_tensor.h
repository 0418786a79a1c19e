// HeldTensor: the base of constants and states, which hold a value.
#ifndef ASHLAR_OPR_BASE_HELD_TENSOR_H_
#define ASHLAR_OPR_BASE_HELD_TENSOR_H_

#include "opr/base/base.h"

namespace ashlar {

// No inputs; the output has the value's shape and dtype. The value is not a parameter.
class HeldTensor : public Operator {
 public:
  explicit HeldTensor(HostTensor value) : value_(std::move(value)) {}
  ParamList params() const override { return {}; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;

 private:
  HostTensor value_;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_HELD_TENSOR_H_
