// Imports Einsum as batched matrix products.
//
// - A letter that an operand has twice takes its diagonal.
// - Letters that occur in no other term are summed at once.
// - '...' is replaced by new letters.
// - Then operands are multiplied from left to right.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "opr/reduce.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/products.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

// An operand: a letter for each axis, and the tensor.
struct Lettered {
  std::string letters;
  OnnxVar var = kNoOnnxVar;
};

bool Has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// Permutes the axes to the order of `letters`; letters that the operand lacks are skipped.
OnnxVar Ordered(OnnxNode& node, const Lettered& operand, const std::string& letters) {
  std::vector<int64_t> pattern;
  for (const char letter : letters) {
    if (Has(operand.letters, letter)) {
      pattern.push_back(static_cast<int64_t>(operand.letters.find(letter)));
    }
  }
  return node.Permuted(operand.var, std::move(pattern));
}

// The equation, with '...' replaced by unused upper-case letters. The last of these is the last
// axis of every ellipsis.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

// Replaces the ellipsis of a term, if any, by the letters of its axes.
std::string Expanded(const std::string& term, const std::string& ellipsis) {
  const size_t dots = term.find("...");
  return dots == std::string::npos ? term : term.substr(0, dots) + ellipsis + term.substr(dots + 3);
}

// Returns no operands after an error.
Equation EquationOf(OnnxNode& node) {
  std::string text = node.Text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const auto wrong = [&] {
    node.Invalid(
        absl::StrCat("equation '", text.substr(0, 64), "' for ", node.num_inputs(), " operands"));
    return Equation();
  };
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = absl::StrSplit(text.substr(0, arrow), ',');
  if (static_cast<int>(terms.size()) != node.num_inputs()) return wrong();
  std::string free;
  for (char letter = 'Z'; letter >= 'A'; --letter) {
    if (!Has(text, letter)) free.insert(free.begin(), letter);
  }
  Equation equation;
  size_t longest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t dots = terms[i].find("...") == std::string::npos ? 0 : 3;
    const size_t named = terms[i].size() - dots,
                 rank = static_cast<size_t>(node.rank(node.input(static_cast<int>(i))));
    if (named > rank || (dots == 0 && named != rank) || rank - named > free.size()) return wrong();
    longest = std::max(longest, rank - named);
    equation.operands.push_back(Expanded(terms[i], free.substr(free.size() - (rank - named))));
  }
  const std::string ellipsis = free.substr(free.size() - longest);
  if (arrow != std::string::npos) {
    equation.result = Expanded(text.substr(arrow + 2), ellipsis);
  } else {  // the ellipsis, then letters that occur once, in alphabetical order
    std::string all;
    for (const std::string& term : terms) all += term;
    for (char letter = 'A'; letter <= 'z'; ++letter) {
      if (std::count(all.begin(), all.end(), letter) == 1) equation.result += letter;
    }
    equation.result = ellipsis + equation.result;
  }
  std::string letters = equation.result;
  for (const std::string& operand : equation.operands) letters += operand;
  const bool only_letters = std::all_of(letters.begin(), letters.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  std::string sorted = equation.result;
  std::sort(sorted.begin(), sorted.end());
  if (!only_letters || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return wrong();
  }
  return equation;
}

// For a letter that occurs twice: joins the two axes into the last one and takes every (n + 1)th
// element.
void TakeDiagonals(OnnxNode& node, Lettered& operand) {
  for (size_t i = 0; i < operand.letters.size(); ++i) {
    const char letter = operand.letters[i];
    const size_t j = operand.letters.find(letter, i + 1);
    if (j == std::string::npos) continue;
    const Shape shape = node.shape(operand.var);
    const int64_t n = shape[static_cast<int>(i)];
    std::vector<int64_t> pattern, dims;
    std::string rest;
    for (size_t axis = 0; axis < operand.letters.size(); ++axis) {
      if (axis == i || axis == j) continue;
      pattern.push_back(static_cast<int64_t>(axis));
      dims.push_back(shape[static_cast<int>(axis)]);
      rest += operand.letters[axis];
    }
    pattern.push_back(static_cast<int64_t>(i));
    pattern.push_back(static_cast<int64_t>(j));
    dims.push_back(n * n);
    const OnnxVar square = node.Reshaped(node.Permuted(operand.var, pattern), Shape(dims));
    operand.var =
        node.Add<Subtensor>({{-1}, {0}, {0}, {1}, {0}}, {square, node.IntVector({n + 1})});
    operand.letters = rest + letter;
    i = static_cast<size_t>(-1);  // restarts from the first letter
    if (!node.ok()) return;
  }
}

// Sums over the letters that `others` lacks.
void SumAlone(OnnxNode& node, Lettered& operand, const std::string& others) {
  for (size_t i = 0; i < operand.letters.size();) {
    if (Has(others, operand.letters[i])) {
      ++i;
      continue;
    }
    const OnnxVar sum =
        node.Add<Reduce>({ReduceMode::kSum, static_cast<int64_t>(i)}, {operand.var});
    Shape shape;
    for (int axis = 0; axis < node.rank(sum); ++axis) {
      if (axis != static_cast<int>(i)) shape.push_back(node.shape(sum)[axis]);
    }
    operand.var = node.Reshaped(sum, shape);
    operand.letters.erase(i, 1);
  }
}

// Multiplies a and b, summing over shared letters that `wanted` lacks. Other shared letters are the
// batch. A letter in only one operand must be wanted.
Lettered ProductOf(OnnxNode& node, const Lettered& a, const Lettered& b, const std::string& wanted,
                   const absl::flat_hash_map<char, int64_t>& sizes) {
  std::string batch, rows, columns, summed;
  Shape batch_shape;
  int64_t m = 1, n = 1, k = 1;
  for (const char letter : a.letters) {
    if (!Has(b.letters, letter)) {
      rows += letter;
      m *= sizes.at(letter);
    } else if (Has(wanted, letter)) {
      batch += letter;
      batch_shape.push_back(sizes.at(letter));
    } else {
      summed += letter;
      k *= sizes.at(letter);
    }
  }
  for (const char letter : b.letters) {
    if (Has(a.letters, letter)) continue;
    columns += letter;
    n *= sizes.at(letter);
  }
  const auto matrices = [&](const Lettered& operand, const std::string& outer, int64_t height,
                            const std::string& inner, int64_t width) {
    Shape to = batch_shape;
    to.push_back(height);
    to.push_back(width);
    return node.Reshaped(Ordered(node, operand, batch + outer + inner), to);
  };
  // B is not permuted if its summed letters come last.
  const bool transposed =
      !summed.empty() && !b.letters.empty() && b.letters.back() == summed.back();
  const OnnxVar left = matrices(a, rows, m, summed, k);
  const OnnxVar right =
      transposed ? matrices(b, columns, n, summed, k) : matrices(b, summed, k, columns, n);
  const OnnxVar product = MatrixProduct(node, left, right, false, transposed);
  const std::string made = batch + rows + columns;
  Shape whole;
  for (const char letter : made) whole.push_back(sizes.at(letter));
  return {made, node.Reshaped(product, whole)};
}

OnnxVars Einsum(OnnxNode& node) {
  const Equation equation = EquationOf(node);
  if (!node.ok()) return kNoOnnxVar;
  std::vector<Lettered> operands;
  absl::flat_hash_map<char, int64_t> sizes;
  for (int i = 0; i < node.num_inputs(); ++i) {
    operands.push_back({equation.operands[static_cast<size_t>(i)], node.input(i)});
    const Shape shape = node.shape(node.input(i));
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const char letter = operands.back().letters[static_cast<size_t>(axis)];
      if (!sizes.emplace(letter, shape[axis]).second && sizes[letter] != shape[axis]) {
        return node.Invalid(absl::StrCat("sizes of '", std::string(1, letter), "' differ"));
      }
    }
  }
  for (const char letter : equation.result) {
    if (!sizes.contains(letter)) return node.Invalid("a letter of the result is in no operand");
  }
  for (Lettered& operand : operands) TakeDiagonals(node, operand);
  for (size_t i = 0; i < operands.size() && node.ok(); ++i) {
    std::string others = equation.result;
    for (size_t j = 0; j < operands.size(); ++j) others += j == i ? "" : operands[j].letters;
    SumAlone(node, operands[i], others);
  }
  Lettered product = operands[0];
  for (size_t i = 1; i < operands.size() && node.ok(); ++i) {
    std::string wanted = equation.result;
    for (size_t j = i + 1; j < operands.size(); ++j) wanted += operands[j].letters;
    product = ProductOf(node, product, operands[i], wanted, sizes);
  }
  if (!node.ok()) return kNoOnnxVar;
  return Ordered(node, product, equation.result);
}

constexpr OnnxRow kEinsumRows[] = {
    OnnxRow("Einsum", 1, OnnxRow::kAny, Einsum).Limits("an ellipsis stands for the same sizes"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxEinsumRows() { return kEinsumRows; }

}  // namespace ashlar
