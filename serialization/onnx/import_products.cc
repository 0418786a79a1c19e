// Products of matrices of ONNX.
#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "opr/matrix_mul.h"
#include "serialization/onnx/import_table.h"

namespace ashlar {
namespace {

// Operands of rank 1 are a row and a column, whose dimension goes away again.
OnnxVar MatMulOf(OnnxNode& node, OnnxVar a, OnnxVar b, bool transpose_a, bool transpose_b) {
  if (node.rank(a) < 1 || node.rank(b) < 1) return node.Invalid("expected rank 1 or more");
  const bool row = node.rank(a) == 1, column = node.rank(b) == 1;
  if (row) a = node.Reshaped(a, {1, node.shape(a)[0]});
  if (column) b = node.Reshaped(b, {node.shape(b)[0], 1});
  const OnnxVar product =
      node.Add<MatrixMul>({transpose_a && !row, transpose_b && !column}, {a, b});
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
  OnnxVar y = node.Product(node.Add<MatrixMul>({transpose_a, transpose_b}, {a, b}), alpha);
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

// One operand of an Einsum: its letters, and the tensor.
struct Lettered {
  std::string letters;
  OnnxVar var;
};

bool Has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// The operand with its axes in the order of `letters`, those that it lacks left out.
OnnxVar Ordered(OnnxNode& node, const Lettered& operand, const std::string& letters) {
  std::vector<int64_t> pattern;
  for (const char letter : letters) {
    if (Has(operand.letters, letter)) {
      pattern.push_back(static_cast<int64_t>(operand.letters.find(letter)));
    }
  }
  return node.Permuted(operand.var, std::move(pattern));
}

bool HasRepeats(std::string letters) {
  std::sort(letters.begin(), letters.end());
  return std::adjacent_find(letters.begin(), letters.end()) != letters.end();
}

// Two operands without repeated letters, as a product of batches of matrices: letters of both and
// of the result are the batch, those of both alone are summed.
OnnxVars Einsum(OnnxNode& node) {
  std::string equation = node.Text("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->"), comma = equation.find(',');
  if (node.num_inputs() != 2 || arrow == std::string::npos || comma == std::string::npos ||
      equation.find('.') != std::string::npos) {
    return node.Unsupported(absl::StrCat("equation '", equation.substr(0, 64), "'"));
  }
  const Lettered a = {equation.substr(0, comma), node.input(0)};
  const Lettered b = {equation.substr(comma + 1, arrow - comma - 1), node.input(1)};
  const std::string result = equation.substr(arrow + 2);
  if (HasRepeats(a.letters) || HasRepeats(b.letters) || HasRepeats(result)) {
    return node.Unsupported(absl::StrCat("equation '", equation.substr(0, 64), "'"));
  }
  std::string batch, rows, columns, summed;
  Shape batch_shape, shape;
  int64_t m = 1, n = 1, k = 1;
  absl::flat_hash_map<char, int64_t> sizes;
  for (const Lettered& operand : {a, b}) {
    if (static_cast<int>(operand.letters.size()) != node.rank(operand.var)) {
      return node.Invalid(absl::StrCat("equation '", equation.substr(0, 64), "' for ",
                                       node.shape(operand.var).ToString()));
    }
    for (size_t i = 0; i < operand.letters.size(); ++i) {
      const int64_t size = node.shape(operand.var)[static_cast<int>(i)];
      if (!sizes.emplace(operand.letters[i], size).second && sizes[operand.letters[i]] != size) {
        return node.Invalid(absl::StrCat("sizes of '", operand.letters.substr(i, 1), "' differ"));
      }
    }
  }
  for (const char letter : result) {
    const bool in_a = Has(a.letters, letter), in_b = Has(b.letters, letter);
    if (!in_a && !in_b) return node.Invalid("a letter of the result is in no operand");
    if (in_a && in_b) {
      batch += letter;
      batch_shape.push_back(sizes[letter]);
    } else {
      (in_a ? rows : columns) += letter;
      (in_a ? m : n) *= sizes[letter];
    }
  }
  for (const char letter : a.letters) {
    if (Has(result, letter)) continue;
    if (!Has(b.letters, letter)) {
      return node.Unsupported(absl::StrCat("equation '", equation.substr(0, 64), "'"));
    }
    summed += letter;
    k *= sizes[letter];
  }
  for (const char letter : b.letters) {
    if (!Has(result, letter) && !Has(a.letters, letter)) {
      return node.Unsupported(absl::StrCat("equation '", equation.substr(0, 64), "'"));
    }
  }
  const auto matrices = [&](const Lettered& operand, const std::string& outer, int64_t height,
                            const std::string& inner, int64_t width) {
    Shape to = batch_shape;
    to.push_back(height);
    to.push_back(width);
    return node.Reshaped(Ordered(node, operand, batch + outer + inner), to);
  };
  // B stays as it lies where its summed letters come last.
  const bool transposed =
      !summed.empty() && !b.letters.empty() && b.letters.back() == summed.back();
  const OnnxVar left = matrices(a, rows, m, summed, k);
  const OnnxVar right =
      transposed ? matrices(b, columns, n, summed, k) : matrices(b, summed, k, columns, n);
  const OnnxVar product = node.Add<MatrixMul>({false, transposed}, {left, right});
  const std::string made = batch + rows + columns;
  Shape whole;
  for (const char letter : made) whole.push_back(sizes[letter]);
  return Ordered(node, {made, node.Reshaped(product, whole)}, result);
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
    OnnxRow("Einsum", 1, OnnxRow::kAny, Einsum).Limits("products of two tensors, without '...'"),
    OnnxRow("FusedMatMul", 2, 2, FusedMatMul).In(kMicrosoftDomain),
    OnnxRow("Gemm", 2, 3, Gemm),
    OnnxRow("MatMul", 2, 2, MatMul),
};

}  // namespace

absl::Span<const OnnxRow> OnnxProductRows() { return kProductRows; }

}  // namespace ashlar
