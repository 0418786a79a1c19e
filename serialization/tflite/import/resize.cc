// Imports resizing of images.
#include "opr/resize.h"

#include "opr/resize_bytes.h"
#include "serialization/tflite/import/table.h"

namespace ashlar {
namespace {

using tflite::BuiltinOperator;

constexpr int64_t kMostPixels = 1 << 20;  // of a side; kernels have tables of that size

template <typename Op>
TfliteVar Resized(TfliteNode& node, TfliteVar x, ResizeParam param) {
  const std::vector<int64_t> size = node.Ints(1, "the size");
  if (!node.ok()) return kNoTfliteVar;
  if (size.size() != 2) return node.Invalid("the size has ", size.size(), " numbers, expected 2");
  for (const int64_t side : size) {
    if (side < 1 || side > kMostPixels) {
      return node.Invalid("the size has ", side, ", expected 1 to ", kMostPixels);
    }
  }
  param.axes = {2, 3};
  return node.Add<Op>(param, {x, node.IntVector(size)});
}

void ResizeBilinear(TfliteNode& node) {
  const auto* const options = node.Options<tflite::ResizeBilinearOptions>();
  if (!node.ok()) return;
  ResizeParam param;
  param.mode = ResizeMode::kLinear;
  param.coordinates = options->align_corners()        ? ResizeCoordinates::kAlignCorners
                      : options->half_pixel_centers() ? ResizeCoordinates::kHalfPixel
                                                      : ResizeCoordinates::kAsymmetric;
  if (!node.QuantizedOutput(0) || !node.IsQuantizedInput(0)) {
    const TfliteVar x = node.Floats(0, TfliteLayout::kImage);
    return node.Result(0, Resized<Resize>(node, x, param), TfliteLayout::kImage);
  }
  node.Result(0, Resized<ResizeBytes>(node, node.Image(0), param), TfliteLayout::kImage);
}

void ResizeNearest(TfliteNode& node) {
  const auto* const options = node.Options<tflite::ResizeNearestNeighborOptions>();
  const TfliteVar x = node.Image(0);
  if (!node.ok()) return;
  ResizeParam param;
  param.coordinates = options->align_corners()        ? ResizeCoordinates::kAlignCorners
                      : options->half_pixel_centers() ? ResizeCoordinates::kTfHalfPixelForNn
                                                      : ResizeCoordinates::kAsymmetric;
  param.rounding = options->align_corners() ? ResizeRounding::kPreferCeil : ResizeRounding::kFloor;
  const TensorType type = node.type(x);
  node.Result(0, node.Reinterpreted(Resized<Resize>(node, node.Stored(x), param), type),
              TfliteLayout::kImage);
}

constexpr TfliteRow kResizeRows[] = {
    {BuiltinOperator::RESIZE_BILINEAR, 2, 2, ResizeBilinear},
    {BuiltinOperator::RESIZE_NEAREST_NEIGHBOR, 2, 2, ResizeNearest},
};

}  // namespace

absl::Span<const TfliteRow> TfliteResizeRows() { return kResizeRows; }

}  // namespace ashlar
