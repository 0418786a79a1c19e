// Products of matrices.
#include "opr/matrix_mul.h"

#include <limits>
#include <numeric>

#include "graph/status.h"
#include "opr/matrix_mul_bias.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

absl::StatusOr<KernelList> ProductKernel(const MatrixMulParam& param, float low,
                                         const CodeOperand& bias, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry g,
                          InferMatrixMul(param, request.inputs[0], request.inputs[1]));
  const auto number = [](int64_t value) { return static_cast<int32_t>(value); };
  std::vector<int> order(static_cast<size_t>(g.batch.rank()));
  std::iota(order.begin(), order.end(), 0);
  ASHLAR_ASSIGN_OR_RETURN(const Walk<2> walk,
                          (WalkInOrder<2>(g.batch, order, {g.batch_strides_a, g.batch_strides_b})));
  ashlar_matmul_shape shape = {};
  shape.walk = walk.walk;
  shape.a = walk.strides[0];
  shape.b = walk.strides[1];
  shape.m = number(g.m);
  shape.k = number(g.k);
  shape.n = number(g.n);
  shape.a_row = param.transposeA ? 1 : shape.k;
  shape.a_column = param.transposeA ? shape.m : 1;
  shape.b_row = param.transposeB ? 1 : shape.n;
  shape.b_column = param.transposeB ? shape.k : 1;
  shape.low = low;
  return OnlyKernel({ASHLAR_CODE_CALL(matmul, shape, Input(0), Input(1), bias, Output(0))});
}

constexpr float kLowest = -std::numeric_limits<float>::infinity();

absl::StatusOr<KernelList> MakeMatrixMul(const MatrixMul& op, const KernelRequest& request) {
  return ProductKernel(op.param(), kLowest, NoOperand(), request);
}

absl::StatusOr<KernelList> MakeMatrixMulBias(const MatrixMulBias& op,
                                             const KernelRequest& request) {
  return ProductKernel(op.param(), op.param().relu ? 0 : kLowest, Input(MatrixMulBias::kBias),
                       request);
}

}  // namespace

void RegisterMatrixMulKernels(KernelRegistry& registry) {
  registry.Register<MatrixMul>(MakeMatrixMul, {DType::kFloat32});
  registry.Register<MatrixMulBias>(MakeMatrixMulBias, {DType::kFloat32});
}

}  // namespace ashlar::mcu
