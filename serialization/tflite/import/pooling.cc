// Imports poolings.
#include "opr/pooling.h"

#include <tuple>

#include "serialization/tflite/import/table.h"
#include "serialization/tflite/import/windows.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using tflite::BuiltinOperator;

// The mean of 8-bit integers in their own type, a half rounded away from zero: LiteRT's. The
// integer operator rounds it to even, so that it serves windows without halves.
TfliteVar MeanOfBytes(TfliteNode& node, PoolingParam param, TfliteVar x) {
  const TensorType type = node.type(x);
  const TfliteVar mean =
      node.Add<PoolingForward>(param, {node.Converted(node.Stored(x), DType::kFloat32)});
  const TfliteVar half =
      node.Function(F::kMul, {node.Function(F::kSign, {mean}), node.Scalar(0.5)});
  const TfliteVar rounded =
      node.Converted(node.Function(F::kAdd, {mean, half}), StoredAs(type.dtype));  // truncates
  return node.Reinterpreted(rounded, type);
}

void Pool(TfliteNode& node, PoolingMode mode) {
  const auto* const options = node.Options<tflite::Pool2DOptions>();
  const TfliteVar x = node.Numbers(0, TfliteLayout::kImage);
  const Shape image = node.shape(x);
  if (!node.ok()) return;
  const TfliteWindow h = {image[2], options->filter_h(), options->stride_h()};
  const TfliteWindow w = {image[3], options->filter_w(), options->stride_w()};
  CheckTfliteWindow(node, h, w, options->padding());
  if (!node.ok()) return;
  PoolingParam param;
  param.mode = mode;
  param.window_h = h.window;
  param.window_w = w.window;
  SetTfliteWindows(h, w, options->padding(), param);
  const bool pads = param.pad_h + param.pad_h_end + param.pad_w + param.pad_w_end > 0;
  TfliteVar y = kNoTfliteVar;
  if (IsQuantized(node.type(x).dtype) && mode != PoolingMode::kMax) {
    const bool halves = pads || h.window * w.window % 2 == 0;
    if (!halves) param.mode = PoolingMode::kAverage;
    param.output = halves ? OutputType() : OutputTypeOf(node.type(x));
    y = halves ? MeanOfBytes(node, param, x) : node.Add<PoolingForward>(param, {x});
  } else {
    y = node.Add<PoolingForward>(param, {x});
  }
  node.Result(0, node.Activated(y, options->activation()), TfliteLayout::kImage);
}

void AveragePool(TfliteNode& node) { Pool(node, PoolingMode::kAverageCountExcludePadding); }
void MaxPool(TfliteNode& node) { Pool(node, PoolingMode::kMax); }

constexpr TfliteRow kPoolingRows[] = {
    {BuiltinOperator::AVERAGE_POOL_2D, 1, 1, AveragePool},
    {BuiltinOperator::MAX_POOL_2D, 1, 1, MaxPool},
};

}  // namespace

absl::Span<const TfliteRow> TflitePoolingRows() { return kPoolingRows; }

}  // namespace ashlar
