// Imports operators that find the largest elements, and sums and products along an axis.
#include "opr/arg_reduce.h"
#include "opr/cum_sum.h"
#include "opr/top_k.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

template <ArgReduceMode kMode>
OnnxVars ArgOf(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  ArgReduceParam param;
  param.mode = kMode;
  param.axis = node.Axis(node.Int("axis", 0), node.rank(x));
  param.last = node.Int("select_last_index", 0) != 0;
  const bool keepdims = node.Int("keepdims", 1) != 0;
  if (!node.ok()) return kNoOnnxVar;
  Shape dropped;
  for (int axis = 0; axis < node.rank(x); ++axis) {
    if (axis != param.axis) dropped.push_back(node.shape(x)[axis]);
  }
  const OnnxVar y = node.Add<ArgReduce>(param, {x});
  return keepdims ? y : node.Reshaped(y, dropped);
}

OnnxVars TopKOf(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  if (node.version() >= 10 && node.ok() && node.constant(node.input(1)) == nullptr) {
    return CountedTopK(node, TopKOf);
  }
  TopKParam param;
  param.axis = node.Int("axis", -1);
  param.k = node.version() < 10 ? node.Int("k", 0) : node.KnownInteger(1, "k");
  param.largest = node.Int("largest", 1) != 0;
  node.Ignore({"sorted"});  // if it is 0, any order is allowed
  return node.AddOperator(std::make_shared<const TopK>(param), {x});
}

OnnxVars CumSumOf(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  CumSumParam param;
  param.axis = node.KnownInteger(1, "the axis");
  param.exclusive = node.Int("exclusive", 0) != 0;
  param.reverse = node.Int("reverse", 0) != 0;
  return node.Add<CumSum>(param, {x});
}

// Multiplies neighbours at distance 1, 2, 4, ... until all elements are included (Hillis and Steele
// 1986).
OnnxVars CumProdOf(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const bool exclusive = node.Int("exclusive", 0) != 0, reverse = node.Int("reverse", 0) != 0;
  const int64_t given = node.KnownInteger(1, "the axis");
  if (!node.ok()) return kNoOnnxVar;
  const int axis = node.Axis(given, node.rank(x));
  if (!node.ok()) return kNoOnnxVar;
  const int64_t length = node.shape(x)[axis], forward = reverse ? -1 : 1;
  const auto moved = [&](int64_t places) { return node.Padded(x, axis, places, -places, 1); };
  if (exclusive && length > 0) x = moved(forward);
  for (int64_t done = 1; done < length && node.ok(); done *= 2) {
    x = node.Product(x, moved(forward * done));
  }
  return x;
}

// Returns 1 at the first of the largest elements, 0 elsewhere.
OnnxVars Hardmax(OnnxNode& node) {
  OnnxVar x = node.input(0);
  const Shape whole = node.shape(x);
  int axis = node.Axis(node.Int("axis", node.version() < 13 ? 1 : -1), whole.rank());
  if (!node.ok()) return kNoOnnxVar;
  if (whole.num_elements() == 0) return x;
  if (node.version() < 13) {  // rows of everything after the axis
    x = node.Reshaped(
        x, {ElementsBetween(whole, 0, axis), ElementsBetween(whole, axis, whole.rank())});
    axis = 1;
  }
  std::vector<int64_t> along(static_cast<size_t>(node.rank(x)), 1);
  along[static_cast<size_t>(axis)] = node.shape(x)[axis];
  ArgReduceParam param;
  param.mode = ArgReduceMode::kMax;
  param.axis = axis;
  const OnnxVar greatest = node.Add<ArgReduce>(param, {x});
  std::optional<HostTensor> places = node.NewTensor(node.dtype(greatest), along);
  if (!places) return kNoOnnxVar;
  for (int64_t i = 0; i < places->num_elements(); ++i) places->Set(i, static_cast<double>(i));
  const OnnxVar hit =
      node.Function(ScalarFunction::kEqual, {node.Constant(*std::move(places)), greatest});
  return node.Reshaped(node.Converted(hit, node.dtype(x)), whole);
}

constexpr OnnxRow kOrderRows[] = {
    OnnxRow("ArgMax", 1, 1, ArgOf<ArgReduceMode::kMax>),
    OnnxRow("ArgMin", 1, 1, ArgOf<ArgReduceMode::kMin>),
    OnnxRow("CumProd", 2, 2, CumProdOf).Limits("along an axis known before the run"),
    OnnxRow("CumSum", 2, 2, CumSumOf).Limits("along an axis known before the run"),
    OnnxRow("Hardmax", 1, 1, Hardmax),
    OnnxRow("TopK", 1, 2, TopKOf)
        .Counted(CountedTopK)
        .Limits("with a count if k is not known before the run"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxOrderRows() { return kOrderRows; }

}  // namespace ashlar
