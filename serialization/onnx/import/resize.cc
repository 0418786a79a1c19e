// Imports Resize and Upsample.
#include "opr/resize.h"

#include <algorithm>
#include <cmath>

#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/names.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

ResizeMode Mode(OnnxNode& node) {
  return OnnxNamed<ResizeMode>(node, "mode", "nearest",
                               {{"nearest", ResizeMode::kNearest},
                                {"linear", ResizeMode::kLinear},
                                {"bilinear", ResizeMode::kLinear},
                                {"cubic", ResizeMode::kCubic}});
}

// Resizes these axes by their scales; skips axes that do not change.
OnnxVar ByScales(OnnxNode& node, OnnxVar x, ResizeParam param, const std::vector<int64_t>& axes,
                 const std::vector<double>& scales, const std::vector<double>& region) {
  std::vector<float> target, box;
  const bool cropped = param.coordinates == ResizeCoordinates::kTfCropAndResize;
  param.axes.clear();
  for (const size_t end : {size_t{0}, axes.size()}) {  // starts of the region, then its ends
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!cropped && scales[i] == 1) continue;
      if (end == 0) {
        param.axes.push_back(axes[i]);
        target.push_back(static_cast<float>(scales[i]));
      }
      if (cropped) box.push_back(static_cast<float>(region[end + i]));
    }
  }
  if (param.axes.empty()) return x;
  const auto vector = [&](const std::vector<float>& values) {
    const Shape shape = {static_cast<int64_t>(values.size())};
    return node.Constant(HostTensor::FromValues<float>(DType::kFloat32, shape, values));
  };
  std::vector<OnnxVar> inputs = {x, vector(target)};
  if (cropped) inputs.push_back(vector(box));
  return node.Add<Resize>(std::move(param), std::move(inputs));
}

OnnxVar BySizes(OnnxNode& node, OnnxVar x, ResizeParam param, const std::vector<int64_t>& axes,
                const std::vector<int64_t>& sizes, const std::vector<double>& region) {
  std::vector<int64_t> target;
  std::vector<float> box;
  const bool cropped = param.coordinates == ResizeCoordinates::kTfCropAndResize;
  param.axes.clear();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!cropped && node.shape(x)[static_cast<int>(axes[i])] == sizes[i]) continue;
    param.axes.push_back(axes[i]);
    target.push_back(sizes[i]);
  }
  for (size_t i = 0; cropped && i < region.size(); ++i) {
    box.push_back(static_cast<float>(region[i]));
  }
  if (param.axes.empty()) return x;
  std::vector<OnnxVar> inputs = {x, node.IntVector(target)};
  if (cropped) {
    const Shape shape = {static_cast<int64_t>(box.size())};
    inputs.push_back(node.Constant(HostTensor::FromValues<float>(DType::kFloat32, shape, box)));
  }
  return node.Add<Resize>(std::move(param), std::move(inputs));
}

std::vector<double> KnownNumbers(OnnxNode& node, int i, absl::string_view what, size_t count) {
  const HostTensor& value = node.Known(i, what);
  std::vector<double> numbers;
  for (int64_t e = 0; node.ok() && e < value.num_elements(); ++e) numbers.push_back(value.At(e));
  if (node.ok() && numbers.size() != count) {
    node.Invalid(absl::StrCat(what, " has ", numbers.size(), " elements, expected ", count));
  }
  return numbers;
}

// Whether an input is present. In operator set 11 an absent one may be an empty tensor.
bool IsGiven(OnnxNode& node, int i) {
  return node.has(i) && node.shape(node.input(i)).num_elements() > 0;
}

OnnxVars ImportResize(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  ResizeParam param;
  param.mode = Mode(node);
  using C = ResizeCoordinates;
  param.coordinates = OnnxNamed<C>(node, "coordinate_transformation_mode", "half_pixel",
                                   {{"half_pixel", C::kHalfPixel},
                                    {"half_pixel_symmetric", C::kHalfPixelSymmetric},
                                    {"pytorch_half_pixel", C::kPytorchHalfPixel},
                                    {"align_corners", C::kAlignCorners},
                                    {"asymmetric", C::kAsymmetric},
                                    {"tf_half_pixel_for_nn", C::kTfHalfPixelForNn},
                                    {"tf_crop_and_resize", C::kTfCropAndResize}});
  using R = ResizeRounding;
  param.rounding = OnnxNamed<R>(node, "nearest_mode", "round_prefer_floor",
                                {{"round_prefer_floor", R::kPreferFloor},
                                 {"round_prefer_ceil", R::kPreferCeil},
                                 {"floor", R::kFloor},
                                 {"ceil", R::kCeil}});
  param.cubic_a = node.Float("cubic_coeff_a", -0.75);
  param.exclude_outside = node.Int("exclude_outside", 0) != 0;
  param.antialias = node.Int("antialias", 0) != 0;
  param.extrapolation = node.Float("extrapolation_value", 0);
  const std::string policy = node.Text("keep_aspect_ratio_policy", "stretch");
  const int rank = node.rank(x);
  std::vector<int64_t> axes = node.Ints("axes", AllAxes(rank));
  for (int64_t& axis : axes) axis = node.Axis(axis, rank);
  if (!node.ok()) return kNoOnnxVar;
  std::vector<double> region;
  if (param.coordinates == C::kTfCropAndResize) {
    region = KnownNumbers(node, 1, "roi", 2 * axes.size());
  }
  const bool by_scales = IsGiven(node, 2), by_sizes = IsGiven(node, 3);
  if (by_scales == by_sizes) return node.Invalid("expected either scales or sizes");
  if (by_scales) {
    const std::vector<double> scales = KnownNumbers(node, 2, "scales", axes.size());
    return node.ok() ? ByScales(node, x, param, axes, scales, region) : kNoOnnxVar;
  }
  std::vector<int64_t> sizes = node.KnownInts(3, "sizes");
  if (!node.ok()) return kNoOnnxVar;
  if (sizes.size() != axes.size()) return node.Invalid("sizes has not one for each axis");
  if (policy == "stretch") return BySizes(node, x, param, axes, sizes, region);
  if (policy != "not_larger" && policy != "not_smaller") {
    return node.Invalid(absl::StrCat("keep_aspect_ratio_policy is '", policy.substr(0, 64), "'"));
  }
  // One scale for all axes.
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double each = static_cast<double>(sizes[i]) /
                        static_cast<double>(node.shape(x)[static_cast<int>(axes[i])]);
    const bool takes = i == 0 || (policy == "not_larger" ? each < scale : each > scale);
    if (takes) scale = each;
  }
  param.rounds_sizes = true;
  return ByScales(node, x, param, axes, std::vector<double>(axes.size(), scale), region);
}

// Operator set 10, and Upsample before it.
ResizeParam Asymmetric(OnnxNode& node) {
  ResizeParam param;
  param.mode = Mode(node);
  param.coordinates = ResizeCoordinates::kAsymmetric;
  return param;
}

// The nearest input is the one before if an axis grows, and the one after if it shrinks.
OnnxVar ByOldScales(OnnxNode& node, OnnxVar x, ResizeParam param,
                    const std::vector<double>& scales) {
  const std::vector<int64_t> axes = AllAxes(node.rank(x));
  if (param.mode != ResizeMode::kNearest) return ByScales(node, x, param, axes, scales, {});
  std::vector<double> shrinking = scales, growing = scales;
  for (double& scale : shrinking) scale = std::min(scale, 1.0);
  for (double& scale : growing) scale = std::max(scale, 1.0);
  param.rounding = ResizeRounding::kCeil;
  const OnnxVar smaller = ByScales(node, x, param, axes, shrinking, {});
  param.rounding = ResizeRounding::kFloor;
  return ByScales(node, smaller, param, axes, growing, {});
}

OnnxVars ResizeByScales(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const ResizeParam param = Asymmetric(node);
  const std::vector<double> scales = KnownNumbers(node, 1, "scales", node.rank(x));
  if (!node.ok()) return kNoOnnxVar;
  return ByOldScales(node, x, param, scales);
}

OnnxVars UpsampleByAttribute(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  const ResizeParam param = Asymmetric(node);
  const std::vector<float> given = node.Floats("scales");
  if (static_cast<int>(given.size()) != node.rank(x)) {
    return node.Invalid("scales has not one for each axis");
  }
  return ByOldScales(node, x, param, {given.begin(), given.end()});
}

constexpr OnnxRow kResizeRows[] = {
    OnnxRow("Resize", 2, 2, ResizeByScales).Counted(CountedBatch).Versions(10, 10),
    OnnxRow("Resize", 1, 4, ImportResize).Counted(CountedBatch).Since(11),
    OnnxRow("Upsample", 1, 1, UpsampleByAttribute).Counted(CountedBatch).Versions(7, 8),
    OnnxRow("Upsample", 2, 2, ResizeByScales).Counted(CountedBatch).Versions(9, 9),
};

}  // namespace

absl::Span<const OnnxRow> OnnxResizeRows() { return kResizeRows; }

}  // namespace ashlar
