#include "opr/matrix_mul_update.h"

#include "graph/graph_builder.h"
#include "opr/base/checks.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(MatrixMulUpdate)

absl::StatusOr<std::vector<TensorType>> MatrixMulUpdate::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 3));
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry geometry,
                          InferMatrixMul(param(), inputs[kA].type, inputs[kB].type));
  const TensorType product{inputs[kA].type.dtype, geometry.output()};
  ASHLAR_RETURN_IF_ERROR(CheckType("dest", inputs[kDest].type, product));
  return std::vector<TensorType>{product};
}

absl::StatusOr<std::vector<HostTensor>> MatrixMulUpdate::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> product,
                          MatrixMul(param()).Evaluate(inputs.first(kDest)));
  return AddUpdate({param().alpha, 1, 0}).Evaluate({inputs[kDest], product[0]});
}

int64_t MatrixMulUpdate::Computation(const Site& site) const {
  return MatrixMul(param()).Computation(site);
}

Aliasing MatrixMulUpdate::aliasing(const Site& /*site*/) const { return UpdatesInput(kDest); }

}  // namespace ashlar
