// Products of matrices of ONNX.
#include "opr/matrix_mul.h"
#include "serialization/onnx/import_table.h"

namespace ashlar {
namespace {

ComputeMode ComputeModeOf(const OnnxNode& node) {
  return node.exact() ? ComputeMode::kFloat32 : ComputeMode::kDefault;
}

// Operands of rank 1 are a row and a column, whose dimension goes away again.
OnnxVar MatMulOf(OnnxNode& node, OnnxVar a, OnnxVar b, bool transpose_a, bool transpose_b) {
  if (node.rank(a) < 1 || node.rank(b) < 1) return node.Invalid("expected rank 1 or more");
  const bool row = node.rank(a) == 1, column = node.rank(b) == 1;
  if (row) a = node.Reshaped(a, {1, node.shape(a)[0]});
  if (column) b = node.Reshaped(b, {node.shape(b)[0], 1});
  const OnnxVar product = node.Add<MatrixMul>(
      {transpose_a && !row, transpose_b && !column, ComputeModeOf(node)}, {a, b});
  if (!row && !column) return product;
  Shape shape;
  const int rank = node.rank(product);
  for (int i = 0; i < rank; ++i) {
    const bool added = (row && i == rank - 2) || (column && i == rank - 1);
    if (!added) shape.push_back(node.shape(product)[i]);
  }
  return node.Reshaped(product, shape);
}

OnnxVars MatMul(OnnxNode& node) {
  return MatMulOf(node, node.input(0), node.input(1), false, false);
}

OnnxVars Gemm(OnnxNode& node) {
  const OnnxVar a = node.input(0), b = node.input(1);
  const bool transpose_a = node.Int("transA", 0) != 0, transpose_b = node.Int("transB", 0) != 0;
  const double alpha = node.Float("alpha", 1), beta = node.Float("beta", 1);
  const bool broadcast = node.version() >= 7 || node.Int("broadcast", 0) != 0;
  if (node.rank(a) != 2 || node.rank(b) != 2) return node.Invalid("expected matrices");
  OnnxVar y = node.Product(
      node.Add<MatrixMul>({transpose_a, transpose_b, ComputeModeOf(node)}, {a, b}), alpha);
  if (!node.has(2) || beta == 0) return y;
  const OnnxVar c = node.input(2);
  if (!node.ok()) return kNoOnnxVar;
  const absl::StatusOr<Shape> both = Broadcast(node.shape(y), node.shape(c));
  if (!both.ok() || *both != node.shape(y) || (!broadcast && node.shape(c) != node.shape(y))) {
    return node.Invalid(absl::StrCat("C is ", node.shape(c).ToString(),
                                     ", which does not broadcast to ", node.shape(y).ToString()));
  }
  return node.Sum(y, node.Product(c, beta));
}

OnnxVars FusedMatMul(OnnxNode& node) {
  const OnnxVar a = node.input(0), b = node.input(1);
  const bool transpose_a = node.Int("transA", 0) != 0, transpose_b = node.Int("transB", 0) != 0;
  if (node.Int("transBatchA", 0) != 0 || node.Int("transBatchB", 0) != 0) {
    return node.Unsupported("transposed batches");
  }
  return node.Product(MatMulOf(node, a, b, transpose_a, transpose_b), node.Float("alpha", 1));
}

constexpr OnnxRow kProductRows[] = {
    OnnxRow("FusedMatMul", 2, 2, FusedMatMul).In(kMicrosoftDomain),
    OnnxRow("Gemm", 2, 3, Gemm),
    OnnxRow("MatMul", 2, 2, MatMul),
};

}  // namespace

absl::Span<const OnnxRow> OnnxProductRows() { return kProductRows; }

}  // namespace ashlar
