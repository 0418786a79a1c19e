// Imports losses: the mean or sum of the log probabilities of the labelled classes, weighted by
// class.
#include "opr/gather.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

// Computes the loss of `log_probabilities` [N, C, ...], with classes [N, ...] as input 1 and
// optional weights by class as input 2. Elements of class `ignore_index` do not count.
OnnxVar LossOf(OnnxNode& node, OnnxVar log_probabilities) {
  const std::string reduction = node.Text("reduction", "mean");
  const bool ignores = node.has_attribute("ignore_index");
  const int64_t ignored = node.Int("ignore_index", 0);
  OnnxVar classes = node.input(1);
  if (!node.ok()) return kNoOnnxVar;
  const DType integers = node.dtype(classes), dtype = node.dtype(log_probabilities);
  const Shape shape = node.shape(classes);
  if (IsFloat(integers) || node.rank(log_probabilities) != shape.rank() + 1 || shape.rank() < 1) {
    return node.Invalid(absl::StrCat("classes are ", node.type_of(classes).ToString(), " for ",
                                     node.shape(log_probabilities).ToString()));
  }
  OnnxVar skipped = kNoOnnxVar;
  if (ignores) {
    const OnnxVar other = node.Scalar(static_cast<double>(ignored), integers);
    skipped = node.Function(F::kEqual, {classes, other});
    classes = node.Function(F::kSelect,
                            {node.Converted(skipped, integers), node.Scalar(0, integers), classes});
    skipped = node.Converted(skipped, dtype);
  }
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.begin() + 1, 1);
  const OnnxVar picked = node.Reshaped(
      node.Add<GatherElements>({1}, {log_probabilities, node.Reshaped(classes, Shape(dims))}),
      shape);
  OnnxVar loss = node.Product(picked, -1);
  OnnxVar weights = kNoOnnxVar;
  if (node.has(2)) weights = node.Add<Gather>({0}, {node.input(2), classes});
  if (ignores) {
    if (weights == kNoOnnxVar) weights = node.BroadcastTo(node.Scalar(1, dtype), shape);
    weights = node.Function(F::kSelect, {skipped, node.Scalar(0, dtype), weights});
  }
  if (weights != kNoOnnxVar) loss = node.Product(loss, weights);
  if (reduction == "none") return loss;
  if (reduction != "mean" && reduction != "sum") {
    return node.Invalid(absl::StrCat("reduction is '", reduction.substr(0, 64), "'"));
  }
  if (!node.ok()) return kNoOnnxVar;
  const auto sum = [&](OnnxVar x) {
    const OnnxVar flat = node.Reshaped(x, {shape.num_elements()});
    return node.Reshaped(node.Add<Reduce>({ReduceMode::kSum, 0}, {flat}), {});
  };
  if (reduction == "sum") return sum(loss);
  if (weights != kNoOnnxVar) return node.Quotient(sum(loss), sum(weights));
  return node.Product(sum(loss), 1.0 / static_cast<double>(shape.num_elements()));
}

OnnxVars NegativeLogLikelihoodLoss(OnnxNode& node) { return LossOf(node, node.input(0)); }

OnnxVars SoftmaxCrossEntropyLoss(OnnxNode& node) {
  const OnnxVar scores = node.input(0);
  if (node.rank(scores) < 2) return node.Invalid("expected scores of rank 2 or more");
  const OnnxVar shifted =
      node.Difference(scores, node.Add<Reduce>({ReduceMode::kMax, 1}, {scores}));
  const OnnxVar sum = node.Add<Reduce>({ReduceMode::kSum, 1}, {node.Function(F::kExp, {shifted})});
  const OnnxVar logs = node.Difference(shifted, node.Function(F::kLog, {sum}));
  return {LossOf(node, logs), logs};
}

constexpr OnnxRow kLossRows[] = {
    OnnxRow("NegativeLogLikelihoodLoss", 2, 3, NegativeLogLikelihoodLoss),
    OnnxRow("SoftmaxCrossEntropyLoss", 2, 3, SoftmaxCrossEntropyLoss),
};

}  // namespace

absl::Span<const OnnxRow> OnnxLossRows() { return kLossRows; }

}  // namespace ashlar
