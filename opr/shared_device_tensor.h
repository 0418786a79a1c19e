// SharedDeviceTensor: a tensor that lives as long as a session, such as a weight in training.
#ifndef ASHLAR_OPR_SHARED_DEVICE_TENSOR_H_
#define ASHLAR_OPR_SHARED_DEVICE_TENSOR_H_

#include "opr/base.h"

namespace ashlar {

// Evaluate gives its value as it is before the first run; updates (opr/update.h) change it.
class SharedDeviceTensor final : public Operator {
 public:
  explicit SharedDeviceTensor(HostTensor value) : value_(std::move(value)) {}
  static constexpr absl::string_view kType = "SharedDeviceTensor";
  absl::string_view type() const override { return kType; }
  std::string base_name() const override { return "shared"; }
  ParamList params() const override { return {}; }
  Role role() const override { return Role::kState; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;

 private:
  HostTensor value_;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_SHARED_DEVICE_TENSOR_H_
