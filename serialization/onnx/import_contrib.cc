// Operators that ONNX Runtime writes into models that it saves at its level "extended".
#include "serialization/onnx/import_table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

OnnxVars GeluOfMicrosoft(OnnxNode& node) { return node.Function(F::kGelu, {node.input(0)}); }

OnnxVars BiasGelu(OnnxNode& node) {
  return node.Function(F::kGelu, {node.Sum(node.input(0), node.input(1))});
}

OnnxVars FastGelu(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  return node.Function(F::kGeluTanh, {node.has(1) ? node.Sum(x, node.input(1)) : x});
}

OnnxVars QuickGelu(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const double alpha = node.Float("alpha", 1.702);
  if (alpha == 1) return node.Function(F::kSilu, {x});
  return node.Product(x, node.Function(F::kSigmoid, {node.Product(x, alpha)}));
}

constexpr OnnxRow kContribRows[] = {
    OnnxRow("BiasGelu", 2, 2, BiasGelu).In(kMicrosoftDomain),
    OnnxRow("FastGelu", 1, 2, FastGelu).In(kMicrosoftDomain),
    OnnxRow("Gelu", 1, 1, GeluOfMicrosoft).In(kMicrosoftDomain),
    OnnxRow("QuickGelu", 1, 1, QuickGelu).In(kMicrosoftDomain),
};

}  // namespace

absl::Span<const OnnxRow> OnnxContribRows() { return kContribRows; }

}  // namespace ashlar
