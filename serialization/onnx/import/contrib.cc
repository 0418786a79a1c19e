// Imports operators that ONNX Runtime writes into models saved at its level "extended".
#include "opr/layer_norm.h"
#include "serialization/onnx/import/table.h"

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

// LayerNormalization of a sum; the last output is the sum itself.
OnnxVars SkipLayerNormalization(OnnxNode& node) {
  OnnxVar sum = node.Sum(node.input(0), node.input(1));
  if (node.has(4)) sum = node.Sum(sum, node.input(4));
  const double epsilon = node.Float("epsilon", 1e-12);
  if (!node.ok()) return kNoOnnxVar;
  if (node.has_output(1) || node.has_output(2)) return node.Unsupported("mean and deviation");
  std::vector<OnnxVar> inputs = {sum, node.input(2)};
  if (node.has(3)) inputs.push_back(node.input(3));
  const OnnxVar y = node.Add<LayerNorm>({node.rank(sum) - 1, epsilon}, std::move(inputs));
  return {y, kNoOnnxVar, kNoOnnxVar, sum};
}

constexpr OnnxRow kContribRows[] = {
    OnnxRow("BiasGelu", 2, 2, BiasGelu).In(kMicrosoftDomain),
    OnnxRow("FastGelu", 1, 2, FastGelu).In(kMicrosoftDomain),
    OnnxRow("Gelu", 1, 1, GeluOfMicrosoft).In(kMicrosoftDomain),
    OnnxRow("QuickGelu", 1, 1, QuickGelu).In(kMicrosoftDomain),
    OnnxRow("SkipLayerNormalization", 3, 5, SkipLayerNormalization)
        .In(kMicrosoftDomain)
        .Limits("without its statistics"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxContribRows() { return kContribRows; }

}  // namespace ashlar
