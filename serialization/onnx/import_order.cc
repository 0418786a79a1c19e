// Operators of ONNX that look for the greatest elements, and sums along an axis.
#include "opr/arg_reduce.h"
#include "opr/cum_sum.h"
#include "opr/top_k.h"
#include "serialization/onnx/import_table.h"

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
  TopKParam param;
  param.axis = node.Int("axis", -1);
  param.k = node.version() < 10 ? node.Int("k", 0) : static_cast<int64_t>(node.KnownNumber(1, "k"));
  param.largest = node.Int("largest", 1) != 0;
  node.Ignore({"sorted"});  // any order will do where it is 0
  return node.AddOperator(std::make_shared<const TopK>(param), {x});
}

OnnxVars CumSumOf(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  CumSumParam param;
  param.axis = static_cast<int64_t>(node.KnownNumber(1, "the axis"));
  param.exclusive = node.Int("exclusive", 0) != 0;
  param.reverse = node.Int("reverse", 0) != 0;
  return node.Add<CumSum>(param, {x});
}

constexpr OnnxRow kOrderRows[] = {
    OnnxRow("ArgMax", 1, 1, ArgOf<ArgReduceMode::kMax>),
    OnnxRow("ArgMin", 1, 1, ArgOf<ArgReduceMode::kMin>),
    OnnxRow("CumSum", 2, 2, CumSumOf).Limits("along an axis known before the run"),
    OnnxRow("TopK", 1, 2, TopKOf).Limits("k known before the run"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxOrderRows() { return kOrderRows; }

}  // namespace ashlar
