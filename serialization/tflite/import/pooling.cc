// Imports poolings.
#include "opr/pooling.h"

#include <tuple>

#include "serialization/tflite/import/table.h"
#include "serialization/tflite/import/windows.h"

namespace ashlar {
namespace {

using tflite::BuiltinOperator;

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
  if (IsQuantized(node.type(x).dtype) && mode != PoolingMode::kMax) {
    // The mean of the file's own type; sums of integers are exact without padding.
    const std::optional<OutputType> output = node.QuantizedOutput(0);
    param.output = output ? *output : OutputTypeOf(node.type(x));
    if (!pads) param.mode = PoolingMode::kAverage;
  }
  const TfliteVar y = node.Add<PoolingForward>(param, {x});
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
