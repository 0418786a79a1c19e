// PoolingForward: the largest element or the mean of each window.
#ifndef ASHLAR_OPR_POOLING_H_
#define ASHLAR_OPR_POOLING_H_

#include "opr/pooling_param.h"

namespace ashlar {

// Input: src. Output: [N, C, oh, ow]. Quantised images: opr/quantized_pooling.h.
class PoolingForward final
    : public OperatorWithParam<PoolingParam, PaddedWindowOperator<PoolingForward>> {
 public:
  ASHLAR_OPERATOR("PoolingForward", "pooling")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.format = FormatRule::kBlocked, .precision = PrecisionRule::kFollow};
  }
  int64_t Computation(const Site& site) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;
  bool KeepsChannelScales(const Site&) const override { return true; }
  std::optional<Replacement> JoinRows(const Range& rows, const Site& site) const override;

 protected:
  absl::StatusOr<WindowAxes> WindowsOf(absl::Span<const InputInfo> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_POOLING_H_
