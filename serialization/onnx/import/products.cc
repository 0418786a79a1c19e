// Imports matrix products.
#include "serialization/onnx/import/products.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/split.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

ComputeMode ComputeModeOf(const OnnxNode& node) {
  return node.exact() ? ComputeMode::kFloat32 : ComputeMode::kDefault;
}

// Returns matrices with a dimension of 1 after or between their last two, which are exchanged
// first if they are transposed.
OnnxVar WithOne(OnnxNode& node, OnnxVar x, bool transposed, bool between) {
  const int rank = node.rank(x);
  if (transposed) {
    std::vector<int64_t> pattern(static_cast<size_t>(rank));
    std::iota(pattern.begin(), pattern.end(), 0);
    std::swap(pattern[pattern.size() - 2], pattern.back());
    x = node.Permuted(x, std::move(pattern));
  }
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    if (between && axis == rank - 2) shape.push_back(1);
    shape.push_back(node.shape(x)[axis]);
  }
  if (!between) shape.push_back(1);
  return node.Reshaped(x, shape);
}

// Operands of rank 1 become a row or a column, whose dimension is removed from the result.
OnnxVar MatMulOf(OnnxNode& node, OnnxVar a, OnnxVar b, bool transpose_a, bool transpose_b) {
  if (node.rank(a) < 1 || node.rank(b) < 1) return node.Invalid("expected rank 1 or more");
  const bool row = node.rank(a) == 1, column = node.rank(b) == 1;
  if (row) a = node.Reshaped(a, {1, node.shape(a)[0]});
  if (column) b = node.Reshaped(b, {node.shape(b)[0], 1});
  const OnnxVar product = MatrixProduct(node, a, b, transpose_a && !row, transpose_b && !column);
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
  if (!IsFloat(node.dtype(a)) && (alpha != std::trunc(alpha) || beta != std::trunc(beta))) {
    return node.Unsupported(absl::StrCat("integers times alpha ", alpha, " and beta ", beta));
  }
  OnnxVar y = node.Product(MatrixProduct(node, a, b, transpose_a, transpose_b), alpha);
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

// Moves the first dimension after the batch: [M, batch, K] becomes [batch, M, K].
OnnxVar BatchFirst(OnnxNode& node, OnnxVar var) {
  const int rank = node.rank(var);
  if (rank < 3) return var;
  std::vector<int64_t> pattern;
  for (int axis = 1; axis < rank - 1; ++axis) pattern.push_back(axis);
  pattern.push_back(0);
  pattern.push_back(rank - 1);
  return node.Permuted(var, std::move(pattern));
}

OnnxVars FusedMatMul(OnnxNode& node) {
  OnnxVar a = node.input(0), b = node.input(1);
  const bool transpose_a = node.Int("transA", 0) != 0, transpose_b = node.Int("transB", 0) != 0;
  if (node.Int("transBatchA", 0) != 0) a = BatchFirst(node, a);
  if (node.Int("transBatchB", 0) != 0) b = BatchFirst(node, b);
  if (!node.ok()) return kNoOnnxVar;
  return node.Product(MatMulOf(node, a, b, transpose_a, transpose_b), node.Float("alpha", 1));
}

// Expands by the first row (Laplace), over the remaining `columns` of `rows` from `row` on.
OnnxVar Determinant(OnnxNode& node, const std::vector<OnnxVars>& rows, size_t row,
                    const std::vector<size_t>& columns) {
  if (columns.size() == 1) return rows[row][columns[0]];
  OnnxVar sum = kNoOnnxVar;
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<size_t> others = columns;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const OnnxVar term =
        node.Product(rows[row][columns[i]], Determinant(node, rows, row + 1, others));
    sum = i == 0 ? term : i % 2 == 0 ? node.Sum(sum, term) : node.Difference(sum, term);
  }
  return sum;
}

OnnxVars Det(OnnxNode& node) {
  constexpr int64_t kMostRows = 4;
  const OnnxVar x = node.input(0);
  const int rank = node.rank(x);
  const int64_t n = rank < 2 ? 0 : node.shape(x)[rank - 1];
  if (rank < 2 || node.shape(x)[rank - 2] != n) return node.Invalid("expected square matrices");
  if (n < 1 || n > kMostRows) {
    return node.Unsupported(absl::StrCat("of ", n, " rows, expected 1 to ", kMostRows));
  }
  const Shape batch(node.shape(x).dims().first(static_cast<size_t>(rank) - 2));
  const auto pieces = [&](OnnxVar var, int64_t axis) {
    const std::vector<int64_t> ones(static_cast<size_t>(n), 1);
    return n == 1 ? OnnxVars(var)
                  : node.AddOperator(std::make_shared<const Split>(SplitParam{axis, ones}), {var});
  };
  std::vector<OnnxVars> rows;
  std::vector<size_t> columns;
  for (const OnnxVar row : pieces(x, rank - 2)) {
    columns.push_back(rows.size());
    rows.push_back(pieces(row, rank - 1));
    for (OnnxVar& element : rows.back()) element = node.Reshaped(element, batch);
  }
  return node.ok() ? Determinant(node, rows, 0, columns) : kNoOnnxVar;
}

constexpr OnnxRow kProductRows[] = {
    OnnxRow("Det", 1, 1, Det).Limits("of up to 4 rows"),
    OnnxRow("FusedMatMul", 2, 2, FusedMatMul).In(kMicrosoftDomain),
    OnnxRow("Gemm", 2, 3, Gemm).Counted(CountedProduct),
    OnnxRow("MatMul", 2, 2, MatMul).Counted(CountedProduct),
};

}  // namespace

OnnxVar MatrixProduct(OnnxNode& node, OnnxVar a, OnnxVar b, bool transpose_a, bool transpose_b) {
  const bool integers = !IsFloat(node.dtype(a)) && node.dtype(a) == node.dtype(b);
  if (!integers || node.rank(a) < 2 || node.rank(b) < 2) {
    return node.Add<MatrixMul>({transpose_a, transpose_b, ComputeModeOf(node)}, {a, b});
  }
  const OnnxVar products = node.Product(WithOne(node, a, transpose_a, /*between=*/false),
                                        WithOne(node, b, transpose_b, /*between=*/true));
  if (!node.ok()) return kNoOnnxVar;
  // The sizes of K broadcast, too: they must be equal.
  const int64_t k = node.shape(a)[node.rank(a) - (transpose_a ? 2 : 1)];
  if (k != node.shape(b)[node.rank(b) - (transpose_b ? 1 : 2)]) {
    return node.Invalid(absl::StrCat("matrices ", node.shape(a).ToString(), " and ",
                                     node.shape(b).ToString(), " do not fit"));
  }
  const int axis = node.rank(products) - 2;
  const OnnxVar sums = node.Add<Reduce>({ReduceMode::kSum, axis}, {products});
  Shape shape;
  for (int i = 0; i < node.rank(sums); ++i) {
    if (i != axis) shape.push_back(node.shape(sums)[i]);
  }
  return node.Reshaped(sums, shape);
}

absl::Span<const OnnxRow> OnnxProductRows() { return kProductRows; }

}  // namespace ashlar
