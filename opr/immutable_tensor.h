// ImmutableTensor: a constant.
#ifndef ASHLAR_OPR_IMMUTABLE_TENSOR_H_
#define ASHLAR_OPR_IMMUTABLE_TENSOR_H_

#include "opr/base.h"

namespace ashlar {

class ImmutableTensor final : public Operator {
 public:
  explicit ImmutableTensor(HostTensor value) : value_(std::move(value)) {}
  static constexpr absl::string_view kType = "ImmutableTensor";
  absl::string_view type() const override { return kType; }
  std::string base_name() const override { return "const"; }
  ParamList params() const override { return {}; }
  Role role() const override { return Role::kConstant; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;

 private:
  HostTensor value_;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_IMMUTABLE_TENSOR_H_
