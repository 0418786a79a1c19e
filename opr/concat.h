// Concat: tensors joined along an axis.
#ifndef ASHLAR_OPR_CONCAT_H_
#define ASHLAR_OPR_CONCAT_H_

#include "opr/axis.h"
#include "opr/base.h"

namespace ashlar {

struct ConcatParam {
  int64_t axis = 0;  // negative: from the end

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
  }
};

// One input or more, of one dtype, equal in all dimensions but that of the axis.
class Concat final : public OperatorWithParam<ConcatParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "Concat"; }
  std::string base_name() const override { return "concat"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kFollow; }
  // In blocks of channels only where every input is made of whole ones.
  FormatRule format_rule(absl::Span<const TensorType> inputs) const override;
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
  int64_t Computation(absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) const override;
  std::optional<int64_t> PlaceInput(int input, absl::Span<const TensorType> inputs,
                                    absl::Span<const TensorType> outputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONCAT_H_
