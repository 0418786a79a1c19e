// BatchNorm: normalisation by given statistics, for inference.
#ifndef ASHLAR_OPR_BATCH_NORM_H_
#define ASHLAR_OPR_BATCH_NORM_H_

#include "opr/base/base.h"

namespace ashlar {

struct BatchNormParam {
  double epsilon = 1e-5;

  template <typename V>
  void Visit(V& v) {
    v("epsilon", epsilon);
  }
};

// Returns the shape of statistics and parameters for x [N, C, ...]: [1, C, 1, ...].
Shape OnePerChannel(const Shape& x);

// InvalidArgument unless x has rank 2 or more and epsilon is a number of at least 0.
absl::Status CheckNormalised(const TensorType& x, double epsilon);

// InvalidArgument unless `type` is [C] or OnePerChannel(x), with x's dtype; `name` is the input's.
absl::Status CheckOnePerChannel(absl::string_view name, const TensorType& type,
                                const TensorType& x);

// (x - mean) / sqrt(variance + epsilon) * scale + bias, for each channel of dimension 1. Inputs: x
// [N, C, ...]; scale, bias, mean and variance, each [C] or [1, C, 1, ...]. Output: x's shape.
class BatchNorm final : public OperatorWithParam<BatchNormParam> {
 public:
  static constexpr int kX = 0, kScale = 1, kBias = 2, kMean = 3, kVariance = 4;

  ASHLAR_OPERATOR("BatchNorm", "batch_norm")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override { return {.format = FormatRule::kFollow}; }
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  std::optional<ChannelAffine> AsChannelAffine(absl::Span<const InputInfo> inputs) const override;
  QuantizationRule quantization_rule(const Site& site) const override;
  absl::StatusOr<int> MakeQuantized(GraphBuilder& builder, absl::Span<const int> inputs,
                                    const QuantizationChoice& choice) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BATCH_NORM_H_
