// Reshape: the same elements, in row-major order, under another shape.
#ifndef ASHLAR_OPR_RESHAPE_H_
#define ASHLAR_OPR_RESHAPE_H_

#include "opr/axis.h"
#include "opr/base.h"

namespace ashlar {

struct ReshapeParam {
  int64_t axis = kNoAxis;  // the dimension that is deduced; the shape vector holds -1 there

  template <typename V>
  void Visit(V& v) {
    v.Optional("axis", axis, kNoAxis);
  }
};

// Inputs: x, and the new shape, an integer vector known before the run. One dimension of it may be
// -1: it is deduced, with or without the parameter.
class Reshape final : public OperatorWithParam<ReshapeParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "Reshape"; }
  std::string base_name() const override { return "reshape"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kFollow; }
  InputUse input_use(int input) const override {
    return input == 0 ? InputUse::kDeviceValue : InputUse::kHostValue;
  }
  bool allows_empty_output() const override { return true; }
  InferRule value_rule(int num_inputs) const override { return InferRule::ValuesOf(num_inputs); }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      absl::Span<const InputInfo> inputs,
                                      absl::Span<const TensorType> outputs) const override;
  std::optional<View> ReadonlyForward(absl::Span<const InputInfo> inputs,
                                      absl::Span<const TensorType> outputs) const override;

 private:
  absl::StatusOr<Shape> TargetShape(absl::Span<const InputInfo> inputs) const;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESHAPE_H_
