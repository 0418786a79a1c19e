// BatchNorm: normalisation by given statistics, as at inference.
#ifndef ASHLAR_OPR_BATCH_NORM_H_
#define ASHLAR_OPR_BATCH_NORM_H_

#include "opr/base.h"

namespace ashlar {

struct BatchNormParam {
  double epsilon = 1e-5;

  template <typename V>
  void Visit(V& v) {
    v("epsilon", epsilon);
  }
};

// (x - mean) / sqrt(variance + epsilon) * scale + bias, channel by channel of dimension 1. Inputs:
// x [N, C, ...], then scale, bias, mean and variance, each [C] or [1, C, 1, ...]. Output: x's
// shape.
class BatchNorm final : public OperatorWithParam<BatchNormParam> {
 public:
  static constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4;

  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "BatchNorm"; }
  std::string base_name() const override { return "batch_norm"; }
  FormatRule format_rule(absl::Span<const TensorType>) const override {
    return FormatRule::kFollow;
  }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  std::vector<int> WritableForward(absl::Span<const TensorType> inputs,
                                   absl::Span<const TensorType> outputs) const override;
  std::optional<ChannelAffine> AsChannelAffine(absl::Span<const InputInfo> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BATCH_NORM_H_
