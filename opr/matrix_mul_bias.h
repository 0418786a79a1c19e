// MatrixMulBias: a matrix product, bias and activation in one kernel.
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

// Inputs: A and B as for MatrixMul, and a bias [n], one value for each column of the output. Models
// do not contain this node: a pass creates it for devices that run it.
class MatrixMulBias final : public OperatorWithParam<MatrixMulBiasParam, ProductOperator> {
 public:
  static constexpr int kBias = 2;

  ASHLAR_OPERATOR("MatrixMulBias", "matrix_mul")
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  std::optional<Replacement> Chain(absl::Span<const InputInfo> inputs,
                                   const Consumer& consumer) const override;

 protected:
  const MatrixMulParam& product() const override { return param(); }
  bool relu() const override { return param().relu; }
};

// RewriteRules::Chain of MatrixMul: a constant added to each column, optionally followed by a ReLU.
std::optional<Replacement> ChainBias(const MatrixMulParam& param,
                                     absl::Span<const InputInfo> inputs, const Consumer& consumer);

}  // namespace ashlar

#endif  // ASHLAR_OPR_MATRIX_MUL_BIAS_H_
