// Assign: a state takes a value, which the next run reads.
#ifndef ASHLAR_OPR_ASSIGN_H_
#define ASHLAR_OPR_ASSIGN_H_

#include "opr/base/base.h"

namespace ashlar {

// Inputs: the value, and the state, of one type. Output: the state, with the value's elements. The
// value may be computed in the state's storage; then nothing is copied.
class Assign final : public OperatorWithParam<NoParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  static constexpr int kValue = 0, kState = 1;
  ASHLAR_OPERATOR_NAMES("Assign", "assign")
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_ASSIGN_H_
