// TypeCvt: the same values in another dtype, rounded and saturated.
#ifndef ASHLAR_OPR_TYPE_CVT_H_
#define ASHLAR_OPR_TYPE_CVT_H_

#include "opr/base.h"

namespace ashlar {

struct TypeCvtParam {
  DType dtype = DType::kFloat32;

  template <typename V>
  void Visit(V& v) {
    v("dtype", dtype, DTypeNames());
  }
};

// To integers: towards zero, saturated, NaN to 0. To Bool: whether it is not zero.
class TypeCvt final : public OperatorWithParam<TypeCvtParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "TypeCvt"; }
  std::string base_name() const override { return "typecvt"; }
  FormatRule format_rule(absl::Span<const TensorType>) const override {
    return FormatRule::kFollow;
  }
  bool allows_empty_output() const override { return true; }
  InferRule value_rule(int num_inputs) const override { return InferRule::ValuesOf(num_inputs); }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  std::optional<View> ReadonlyForward(absl::Span<const InputInfo> inputs,
                                      absl::Span<const TensorType> outputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_TYPE_CVT_H_
