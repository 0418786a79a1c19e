// MatrixMulUpdate: computes the gradient of a weight matrix and adds it to its momentum.
#ifndef ASHLAR_OPR_MATRIX_MUL_UPDATE_H_
#define ASHLAR_OPR_MATRIX_MUL_UPDATE_H_

#include "opr/matrix_mul.h"
#include "opr/update.h"

namespace ashlar {

using MatrixMulUpdateParam = AddingParam<MatrixMulParam>;

// alpha * dest + A B. Inputs: A and B as for MatrixMul; dest, of their product's type. Output: dest
// after the update, in its storage if dest is a state.
class MatrixMulUpdate final : public OperatorWithParam<MatrixMulUpdateParam> {
 public:
  static constexpr int kA = 0, kB = 1, kDest = 2;

  ASHLAR_OPERATOR("MatrixMulUpdate", "matrix_mul_update")
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site&) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_MATRIX_MUL_UPDATE_H_
