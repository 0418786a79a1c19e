// Imports reductions and functions along an axis.
#include <algorithm>

#include "opr/arg_reduce.h"
#include "opr/log_softmax.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/softmax.h"
#include "serialization/tflite/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using tflite::BuiltinOperator;

// The mean of 8-bit images over their pixels, of which the sum is exact. `x` is {N,C,H,W}.
TfliteVar MeanOfPixels(TfliteNode& node, TfliteVar x, const OutputType& output) {
  const Shape& image = node.shape(x);
  PoolingParam param;
  param.mode = PoolingMode::kAverage;
  param.window_h = param.stride_h = image[2];
  param.window_w = param.stride_w = image[3];
  param.output = output;
  return node.Add<PoolingForward>(param, {x});
}

void ReduceBy(TfliteNode& node, ReduceMode mode) {
  const auto* const options = node.Options<tflite::ReducerOptions>();
  const std::vector<int64_t> given = node.Ints(1, "the axes");
  const TfliteLayout layout = node.LayoutOf(0);
  TfliteVar x = node.Input(0, layout);
  if (!node.ok()) return;
  const int rank = node.rank(x);
  std::vector<bool> reduced(static_cast<size_t>(rank), false);  // by axis of the file
  Shape kept = node.shape(x);
  for (const int64_t axis : given) {
    const int of_file = node.Axis(axis, rank), of_layout = node.Axis(axis, rank, layout);
    if (!node.ok()) return;
    reduced[static_cast<size_t>(of_file)] = true;
    kept[of_layout] = 1;
  }
  const std::optional<OutputType> output = node.QuantizedOutput(0);
  const bool pixels = rank == 4 && reduced == std::vector<bool>{false, true, true, false};
  TfliteLayout result = layout;
  if (pixels && mode == ReduceMode::kMean && output && node.IsQuantizedInput(0)) {
    x = MeanOfPixels(node, node.Image(0), *output);
    result = TfliteLayout::kImage;
  } else {
    const DType dtype = node.type(x).dtype;
    const bool integers = IsInteger(dtype) && dtype != DType::kInt16 && !output;
    if (!integers) x = node.Floats(0, layout);
    x = node.Add<Reduce>({mode}, {x, node.IntVector(kept.dims())});
  }
  if (options->keep_dims() || !node.ok()) {
    node.Result(0, x, result);
    return;
  }
  if (result == TfliteLayout::kImage) x = node.Permuted(x, TflitePattern(TfliteLayout::kFile));
  Shape left;
  for (int axis = 0; axis < rank; ++axis) {
    if (!reduced[static_cast<size_t>(axis)]) left.push_back(node.shape(x)[axis]);
  }
  node.Result(0, node.Reshaped(x, left));
}

template <ReduceMode kMode>
void ReduceAs(TfliteNode& node) {
  ReduceBy(node, kMode);
}

// Adds an operator along the last dimension of the file.
template <typename Op>
TfliteVar AlongLast(TfliteNode& node, TfliteVar x, TfliteLayout layout) {
  if (node.ok() && node.rank(x) == 0) return node.Invalid("of a scalar");
  const int64_t axis = node.Axis(-1, node.rank(x), layout);
  return node.Add<Op>({axis}, {x});
}

void SoftmaxOf(TfliteNode& node) {
  const auto* const options = node.Options<tflite::SoftmaxOptions>();
  const TfliteLayout layout = node.LayoutOf(0);
  TfliteVar x = node.Floats(0, layout);
  if (!node.ok()) return;
  if (options->beta() != 1) x = node.Function(F::kMul, {x, node.Scalar(options->beta())});
  node.Result(0, AlongLast<Softmax>(node, x, layout), layout);
}

void LogSoftmaxOf(TfliteNode& node) {
  const TfliteLayout layout = node.LayoutOf(0);
  node.Result(0, AlongLast<LogSoftmax>(node, node.Floats(0, layout), layout), layout);
}

// x / sqrt(max(sum of squares, 1e-6)), along the last dimension.
void L2Normalization(TfliteNode& node) {
  const auto* const options = node.Options<tflite::L2NormOptions>();
  const TfliteLayout layout = node.LayoutOf(0);
  const TfliteVar x = node.Floats(0, layout);
  if (!node.ok()) return;
  if (node.rank(x) == 0) return void(node.Invalid("of a scalar"));
  const int64_t axis = node.Axis(-1, node.rank(x), layout);
  const TfliteVar squares = node.Add<Reduce>({ReduceMode::kSumSqr, axis}, {x});
  const TfliteVar most = node.Function(F::kMax, {squares, node.Scalar(1e-6)});
  const TfliteVar y = node.Function(F::kTrueDiv, {x, node.Function(F::kSqrt, {most})});
  node.Result(0, node.Activated(y, options->activation()), layout);
}

template <ArgReduceMode kMode>
void ArgOf(TfliteNode& node) {
  const int64_t axis = node.Int(1, "the axis");
  const TfliteVar x = node.Stored(node.Input(0));
  const int along = node.Axis(axis, node.rank(x));
  if (!node.ok()) return;
  Shape left;
  for (int i = 0; i < node.rank(x); ++i) {
    if (i != along) left.push_back(node.shape(x)[i]);
  }
  node.Result(0, node.Reshaped(node.Add<ArgReduce>({kMode, along}, {x}), left));
}

constexpr TfliteRow kReductionRows[] = {
    {BuiltinOperator::ARG_MAX, 2, 2, ArgOf<ArgReduceMode::kMax>},
    {BuiltinOperator::ARG_MIN, 2, 2, ArgOf<ArgReduceMode::kMin>},
    {BuiltinOperator::L2_NORMALIZATION, 1, 1, L2Normalization},
    {BuiltinOperator::LOG_SOFTMAX, 1, 1, LogSoftmaxOf},
    {BuiltinOperator::MEAN, 2, 2, ReduceAs<ReduceMode::kMean>},
    {BuiltinOperator::REDUCE_MAX, 2, 2, ReduceAs<ReduceMode::kMax>},
    {BuiltinOperator::REDUCE_MIN, 2, 2, ReduceAs<ReduceMode::kMin>},
    {BuiltinOperator::REDUCE_PROD, 2, 2, ReduceAs<ReduceMode::kProduct>},
    {BuiltinOperator::SOFTMAX, 1, 1, SoftmaxOf},
    {BuiltinOperator::SUM, 2, 2, ReduceAs<ReduceMode::kSum>},
};

}  // namespace

absl::Span<const TfliteRow> TfliteReductionRows() { return kReductionRows; }

}  // namespace ashlar
