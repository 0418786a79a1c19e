// MatrixMulBias: a product of matrices with what follows it in one kernel.
#ifndef ASHLAR_OPR_MATRIX_MUL_BIAS_H_
#define ASHLAR_OPR_MATRIX_MUL_BIAS_H_

#include "opr/matrix_mul.h"

namespace ashlar {

struct MatrixMulBiasParam : MatrixMulParam {
  bool relu = false;

  template <typename V>
  void Visit(V& v) {
    MatrixMulParam::Visit(v);
    v("relu", relu);
  }
};

// Inputs: A and B as of MatrixMul, and a bias [n], one value for each column of the output. No
// model has such a node: it is made by a pass, for devices that run it.
class MatrixMulBias final : public OperatorWithParam<MatrixMulBiasParam> {
 public:
  static constexpr int kBias = 2;

  using OperatorWithParam::OperatorWithParam;
  absl::string_view type() const override { return "MatrixMulBias"; }
  std::string base_name() const override { return "matrix_mul"; }
  PrecisionRule precision_rule() const override { return PrecisionRule::kLow; }
  bool has_workspace() const override { return true; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
  std::optional<std::vector<Region>> InputRegions(
      const Region& output, absl::Span<const InputInfo> inputs,
      absl::Span<const TensorType> outputs) const override;
  int64_t Computation(absl::Span<const TensorType> inputs,
                      absl::Span<const TensorType> outputs) const override;
  std::optional<Replacement> Chain(const Operator& consumer, int via,
                                   absl::Span<const InputInfo> inputs,
                                   absl::Span<const InputInfo> consumer_inputs) const override;
};

// Operator::Chain of MatrixMul: a constant added to each column, with or without a ReLU behind it.
std::optional<Replacement> ChainBias(const MatrixMulParam& param, const Operator& consumer, int via,
                                     absl::Span<const InputInfo> inputs,
                                     absl::Span<const InputInfo> consumer_inputs);

}  // namespace ashlar

#endif  // ASHLAR_OPR_MATRIX_MUL_BIAS_H_
