// Exports Resize and GridSample.
#include "opr/resize.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/base/host_value.h"
#include "opr/grid_sample.h"
#include "opr/resize_axis.h"
#include "opr/resize_bytes.h"
#include "serialization/onnx/export/operators.h"

namespace ashlar {
namespace {

HostTensor FloatsOf(const std::vector<float>& values) {
  return HostTensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())},
                                       values);
}

// Returns by axis of the tensor the given number for resized axes, and `rest` for the others.
std::vector<float> ByAxis(const std::vector<int>& axes, absl::Span<const float> given, int rank,
                          float rest) {
  std::vector<float> all(static_cast<size_t>(rank), rest);
  for (size_t i = 0; i < axes.size(); ++i) all[static_cast<size_t>(axes[i])] = given[i];
  return all;
}

// Returns sizes by axis from which keep_aspect_ratio_policy computes this one scale, as it probably
// did; nullopt if there are none.
std::optional<std::vector<int64_t>> LimitsOf(const std::vector<float>& scales,
                                             const std::vector<int>& axes, const Shape& shape) {
  std::vector<int64_t> limits;
  float least = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < axes.size(); ++i) {
    const double size = static_cast<double>(shape[axes[i]]);
    limits.push_back(static_cast<int64_t>(std::ceil(static_cast<double>(scales[i]) * size - 1e-4)));
    least = std::min(least, static_cast<float>(static_cast<double>(limits.back()) / size));
  }
  const bool one = std::all_of(scales.begin(), scales.end(), [&](float s) { return s == least; });
  return one ? std::make_optional(limits) : std::nullopt;
}

// Indexed by ResizeCoordinates; null if ONNX has none since operator set 13.
constexpr const char* kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
    nullptr,      "tf_crop_and_resize"};
static_assert(std::size(kCoordinates) ==
              static_cast<size_t>(ResizeCoordinates::kTfCropAndResize) + 1);

// Selects the nearest elements by index, axis by axis.
absl::StatusOr<OnnxValues> Gathered(OnnxEmitter& emitter) {
  const ResizeParam& param = emitter.op<Resize>().param();
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, ResizeAxesOf(param, emitter.infos()));
  std::string value = emitter.input(0);
  for (const ResizeAxis& axis : axes) {
    const std::vector<int32_t> index = TapsOf(param, axis).index;
    value = emitter.Add("Gather", {value, emitter.Ints({index.begin(), index.end()})},
                        {{"axis", int64_t{axis.axis}}});
  }
  return value;
}

// Returns the sizes of all axes. Before operator set 18 there are none of some axes: the leading
// ones that stay are the input's, so that the number of images stays open.
std::string Sizes(OnnxEmitter& emitter, const std::vector<int>& axes) {
  const absl::Span<const int64_t> sizes = emitter.output_type().shape.dims();
  const int first = *std::min_element(axes.begin(), axes.end());
  const std::string resized = emitter.Ints({sizes.begin() + first, sizes.end()});
  if (first == 0) return resized;
  const std::string shape = emitter.Add("Shape", {emitter.input(0)});
  const std::string kept =
      emitter.Add("Slice", {shape, emitter.Ints({0}), emitter.Ints({int64_t{first}})});
  return emitter.Add("Concat", {kept, resized}, {{"axis", int64_t{0}}});
}

absl::StatusOr<OnnxValues> Resized(OnnxEmitter& emitter, const ResizeParam& param) {
  static constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
  static constexpr const char* kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                               "ceil"};
  const char* const coordinates = kCoordinates[static_cast<size_t>(param.coordinates)];
  const bool newer = param.antialias || param.rounds_sizes ||
                     param.coordinates == ResizeCoordinates::kHalfPixelSymmetric;
  if (coordinates == nullptr && param.mode == ResizeMode::kNearest) return Gathered(emitter);
  if (coordinates == nullptr || (newer && !emitter.rich()) || !param.part.empty()) {
    return absl::UnimplementedError("coordinates, antialiasing or parts");
  }
  const int rank = emitter.input_type(0).shape.rank();
  std::vector<int> axes;
  for (const int64_t given : param.axes) {
    ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(given, rank));
    axes.push_back(axis);
  }
  const std::vector<InputInfo> infos = emitter.infos();
  std::vector<std::string> inputs = {emitter.input(0), ""};
  if (infos.size() > 2) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<float> roi, FloatVector(infos[2], "the region"));
    const absl::Span<const float> both = roi;
    std::vector<float> all = ByAxis(axes, both.first(axes.size()), rank, 0);
    const std::vector<float> ends = ByAxis(axes, both.subspan(axes.size()), rank, 1);
    all.insert(all.end(), ends.begin(), ends.end());
    inputs[1] = emitter.Tensor(FloatsOf(all));
  }
  std::optional<std::vector<int64_t>> limits;
  if (param.rounds_sizes && infos[1].type.dtype == DType::kFloat32) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<float> scales, FloatVector(infos[1], "scales"));
    limits = LimitsOf(scales, axes, emitter.input_type(0).shape);
    if (!limits || infos.size() > 2) return absl::UnimplementedError("sizes rounded by scales");
  }
  if (limits) {
    inputs.push_back("");
    inputs.push_back(emitter.Ints(*limits));
  } else if (infos[1].type.dtype == DType::kFloat32) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<float> scales, FloatVector(infos[1], "scales"));
    inputs.push_back(emitter.Tensor(FloatsOf(ByAxis(axes, scales, rank, 1))));
  } else {
    inputs.push_back("");
    inputs.push_back(Sizes(emitter, axes));
  }
  std::vector<OnnxAttribute> attributes = {
      {"mode", kModes[static_cast<size_t>(param.mode)]},
      {"coordinate_transformation_mode", coordinates},
      {"nearest_mode", kRoundings[static_cast<size_t>(param.rounding)]},
      {"cubic_coeff_a", static_cast<float>(param.cubic_a)},
      {"exclude_outside", int64_t{param.exclude_outside}},
      {"extrapolation_value", static_cast<float>(param.extrapolation)}};
  if (param.antialias) attributes.push_back({"antialias", int64_t{1}});
  if (limits) {
    attributes.push_back({"keep_aspect_ratio_policy", "not_larger"});
    attributes.push_back({"axes", std::vector<int64_t>(axes.begin(), axes.end())});
  }
  return emitter.Add("Resize", inputs, attributes);
}

}  // namespace

absl::StatusOr<OnnxValues> OnnxResize(OnnxEmitter& emitter) {
  return Resized(emitter, emitter.op<Resize>().param());
}

// ONNX resizes the real numbers.
absl::StatusOr<OnnxValues> OnnxResizeBytes(OnnxEmitter& emitter) {
  return Resized(emitter, emitter.op<ResizeBytes>().param());
}

absl::StatusOr<OnnxValues> OnnxGridSample(OnnxEmitter& emitter) {
  const GridSampleParam& param = emitter.op<GridSample>().param();
  if (!emitter.rich()) return absl::UnimplementedError("no counterpart");
  constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
  constexpr const char* kPaddings[] = {"zeros", "border", "reflection"};
  return emitter.Add("GridSample", {emitter.input(0), emitter.input(1)},
                     {{"mode", kModes[static_cast<size_t>(param.mode)]},
                      {"padding_mode", kPaddings[static_cast<size_t>(param.padding)]},
                      {"align_corners", int64_t{param.align_corners}}});
}

}  // namespace ashlar
