// Points and pixels as in ONNX's operator GridSample (version 20), and in PyTorch.
#include "opr/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "opr/checks.h"
#include "opr/saturating_product.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(GridSample)

namespace {

// Mirrored at both ends until it lies in [low, high].
double Reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double beyond = std::fmod(std::fabs(x - low), 2 * range);
  return low + std::min(beyond, 2 * range - beyond);
}

}  // namespace

GridTaps GridTapsAt(const GridSampleParam& param, double coordinate, int64_t size) {
  constexpr double kFar = 1e9;  // beyond any image; NaN is there, too
  const double length = static_cast<double>(size);
  double x = param.align_corners ? (coordinate + 1) / 2 * (length - 1)
                                 : ((coordinate + 1) * length - 1) / 2;
  x = x > -kFar ? std::min(x, kFar) : -kFar;
  const bool cubic = param.mode == GridSampleMode::kCubic;
  if (param.mode == GridSampleMode::kNearest) x = std::nearbyint(x);
  const double low = param.align_corners ? 0 : -0.5, high = length - 1 - low;
  if (x < low || x > high) {
    // Cubic weights belong to the point itself, as in PyTorch and ONNX Runtime; onnx's reference
    // moves it to the border first.
    const bool moves = param.padding == GridSamplePadding::kBorder && !cubic;
    if (moves) x = std::clamp(x, 0.0, length - 1);
    if (param.padding == GridSamplePadding::kReflection) x = Reflected(x, low, high);
  }
  const int taps = GridTapCount(param.mode);
  const double left = std::floor(x), t = x - left;
  GridTaps result;
  switch (param.mode) {
    case GridSampleMode::kNearest:
      result.weight = {1};
      break;
    case GridSampleMode::kLinear:
      result.weight = {1 - t, t};
      break;
    case GridSampleMode::kCubic: {
      constexpr double kA = -0.75;
      const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
      const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
      result.weight = {far(t + 1), near(t), near(1 - t), far(2 - t)};
      break;
    }
  }
  for (int i = 0; i < taps; ++i) {
    double pixel = left + i - (taps == 4 ? 1 : 0);
    if (param.padding == GridSamplePadding::kReflection) pixel = Reflected(pixel, low, high);
    const bool outside = pixel < 0 || pixel > length - 1;
    if (outside && param.padding == GridSamplePadding::kZeros) result.weight[i] = 0;
    result.pixel[i] = std::clamp<int64_t>(static_cast<int64_t>(pixel), 0, size - 1);
  }
  return result;
}

absl::StatusOr<std::vector<TensorType>> GridSample::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType &x = inputs[0].type, &grid = inputs[1].type;
  ASHLAR_RETURN_IF_ERROR(CheckImage("input", x));
  ASHLAR_RETURN_IF_ERROR(CheckDType("grid", grid, x.dtype));
  if (grid.shape.rank() != 4 || grid.shape[0] != x.shape[0] || grid.shape[3] != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("grid is ", grid.ToString(), ", expected {", x.shape[0], ",oh,ow,2}"));
  }
  const Shape output = {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]};
  ASHLAR_RETURN_IF_ERROR(Shape::Make(output.dims()).status());
  return std::vector<TensorType>{{x.dtype, output}};
}

absl::StatusOr<std::vector<HostTensor>> GridSample::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor &x = inputs[0], &grid = inputs[1];
  const Shape& shape = x.shape();
  const int64_t points = grid.shape()[1] * grid.shape()[2], plane = shape[2] * shape[3];
  const int taps = GridTapCount(param().mode);
  HostTensor y =
      HostTensor::Zeros(x.dtype(), {shape[0], shape[1], grid.shape()[1], grid.shape()[2]});
  for (int64_t i = 0; i < shape[0] * points; ++i) {
    const GridTaps columns = GridTapsAt(param(), grid.At(2 * i), shape[3]);
    const GridTaps rows = GridTapsAt(param(), grid.At(2 * i + 1), shape[2]);
    for (int64_t c = 0; c < shape[1]; ++c) {
      const int64_t image = i / points * shape[1] + c;
      double sum = 0;
      for (int r = 0; r < taps; ++r) {
        for (int k = 0; k < taps; ++k) {
          const double weight = rows.weight[r] * columns.weight[k];
          if (weight == 0) continue;
          sum += weight * x.At(image * plane + rows.pixel[r] * shape[3] + columns.pixel[k]);
        }
      }
      y.Set(image * points + i % points, sum);
    }
  }
  return std::vector<HostTensor>{std::move(y)};
}

int64_t GridSample::Computation(const Site& site) const {
  const int64_t taps = GridTapCount(param().mode);
  return SaturatingProduct({site.outputs[0].shape.num_elements(), taps, taps, 2});
}

std::optional<std::vector<Region>> GridSample::InputRegions(const Region& output,
                                                            const Site& site) const {
  std::vector<Region> regions = {WholeRegion(site.inputs[0].type.shape),
                                 {output[0], output[2], output[3], {0, 2}}};
  regions[0][0] = output[0];
  regions[0][1] = output[1];
  return regions;
}

}  // namespace ashlar
