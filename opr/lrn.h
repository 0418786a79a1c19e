// LRN: local response normalisation across channels.
#ifndef ASHLAR_OPR_LRN_H_
#define ASHLAR_OPR_LRN_H_

#include "opr/base.h"

namespace ashlar {

// Names, defaults and meaning of ONNX.
struct LRNParam {
  int64_t size = 5;  // channels in a window; where even, the extra one is the later
  double alpha = 1e-4;
  double beta = 0.75;
  double bias = 1;

  template <typename V>
  void Visit(V& v) {
    v("size", size);
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
  }
};

// y[c] = x[c] / (bias + alpha / size * sum of x[i]^2)^beta for the channels i in
// [c - floor((size - 1) / 2), c + ceil((size - 1) / 2)] that exist. Input and output: [N, C, H, W],
// floats; sums of 16-bit floats are in Float32.
class LRN final : public OperatorWithParam<LRNParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "LRN"; }
  std::string base_name() const override { return "lrn"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kFollow; }
  FormatRule format_rule(absl::Span<const TensorType>) const override {
    return FormatRule::kBlocked;
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
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_LRN_H_
