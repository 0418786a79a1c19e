// ConvBiasForward: convolution, bias, residual and activation in one.
#ifndef ASHLAR_OPR_CONV_BIAS_H_
#define ASHLAR_OPR_CONV_BIAS_H_

#include "opr/convolution.h"
#include "opr/scalar_functions.h"

namespace ashlar {

struct ConvBiasParam : ConvolutionParam {
  ScalarFunction nonlineMode = ScalarFunction::kIdentity;  // one that the table calls an activation
  ScalarParameters parameters = {};                        // its own

  template <typename V>
  void Visit(V& v) {
    ConvolutionParam::Visit(v);
    v("nonlineMode", nonlineMode, kScalarFunctionNames);
    const ScalarRow& row = RowOf(nonlineMode);
    for (int i = 0; i < row.num_parameters; ++i) v.Optional(row.parameters[i], parameters[i], 0.0);
  }
};

// nonlineMode(convolution(src, filter) + bias + z). Inputs: src, filter, bias [1, oc, 1, 1] and
// optionally z, of the output's shape. Output: [N, oc, oh, ow].
class ConvBiasForward final : public OperatorWithParam<ConvBiasParam> {
 public:
  static constexpr int kSrc = 0, kFilter = 1, kBias = 2, kZ = 3;

  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "ConvBiasForward"; }
  std::string base_name() const override { return "conv_bias"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kLow; }
  bool has_workspace() const override { return true; }
  FormatRule format_rule(absl::Span<const TensorType>) const override {
    return FormatRule::kBlocked;
  }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  int64_t Computation(absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) const override;
  std::vector<int> WritableForward(absl::Span<const TensorType> inputs,
                                   absl::Span<const TensorType> outputs) const override;
  std::optional<Replacement> Absorb(const Operator& consumer, int via,
                                    absl::Span<const InputInfo> inputs,
                                    absl::Span<const InputInfo> consumer_inputs) const override;
  std::optional<Replacement> AbsorbAffine(const ChannelAffine& affine,
                                          absl::Span<const InputInfo> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const TensorType> outputs) const override;
  bool CropsInput(int input) const override { return input == kSrc; }
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      absl::Span<const InputInfo> inputs,
                                      absl::Span<const TensorType> outputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_CONV_BIAS_H_
