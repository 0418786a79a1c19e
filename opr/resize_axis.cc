// Coordinates and filters as in ONNX's operator Resize (version 19). The scale is the one given,
// and length_resized the whole size of the output. Widened filters follow ONNX's reference.
#include "opr/resize_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/base/base.h"
#include "opr/base/host_value.h"

namespace ashlar {
namespace {

constexpr int kPartNumbers = 4;  // numbers in ResizeParam::part per axis
// Input indices have 32 bits.
constexpr int64_t kLongestAxis = std::numeric_limits<int32_t>::max();

// Returns a coordinate. The nearest input is chosen in single precision, as in exporters and their
// runtimes: at scale 1.7, output 17 is input 10, not one just below.
double Rounded(const ResizeParam& param, double x) {
  return param.mode == ResizeMode::kNearest ? static_cast<double>(static_cast<float>(x)) : x;
}

double CoordinateOf(const ResizeParam& param, const ResizeAxis& axis, int64_t output) {
  if (axis.fixed_point) return FixedPointPosition(FixedPointPositionsOf(param, axis), output);
  const double o = static_cast<double>(output), in = static_cast<double>(axis.whole_input);
  const double out = static_cast<double>(axis.whole_output);
  switch (param.coordinates) {
    case ResizeCoordinates::kHalfPixel:
      return Rounded(param, (o + 0.5) / axis.scale) - 0.5;
    case ResizeCoordinates::kHalfPixelSymmetric:
      return Rounded(param, in / 2 * (1 - out / (axis.scale * in)) + (o + 0.5) / axis.scale) - 0.5;
    case ResizeCoordinates::kPytorchHalfPixel:
      return axis.whole_output == 1 ? 0 : Rounded(param, (o + 0.5) / axis.scale) - 0.5;
    case ResizeCoordinates::kAlignCorners: {
      if (axis.whole_output == 1) return 0;
      // ONNX's text, exporters and runtimes divide by the whole size minus 1. ONNX's own cases
      // divide by the fractional length, for axes that a scale below 1 shrinks.
      const double length = axis.scale < 1 ? axis.scale * in : out;
      return Rounded(param, o * (in - 1) / (length - 1));
    }
    case ResizeCoordinates::kAsymmetric:
      return Rounded(param, o / axis.scale);
    case ResizeCoordinates::kTfHalfPixelForNn:
      return Rounded(param, (o + 0.5) / axis.scale);
    case ResizeCoordinates::kTfCropAndResize:
      break;
  }
  const double extent = (axis.roi_end - axis.roi_begin) * (in - 1);
  return Rounded(param, axis.roi_begin * (in - 1) +
                            (axis.whole_output == 1 ? extent / 2 : o * extent / (out - 1)));
}

int64_t Nearest(ResizeRounding rounding, double x) {
  const double below = std::floor(x), fraction = x - below;
  const double above = fraction == 0 ? below : below + 1;
  switch (rounding) {
    case ResizeRounding::kPreferFloor:
      return static_cast<int64_t>(fraction <= 0.5 ? below : above);
    case ResizeRounding::kPreferCeil:
      return static_cast<int64_t>(fraction < 0.5 ? below : above);
    case ResizeRounding::kFloor:
      return static_cast<int64_t>(below);
    case ResizeRounding::kCeil:
      break;
  }
  return static_cast<int64_t>(above);
}

double LinearFilter(double t) { return std::max(0.0, 1 - std::fabs(t)); }

// Keys' cubic convolution.
double CubicFilter(double a, double t) {
  t = std::fabs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// The filter of linear and cubic samples: `count` taps from floor(coordinate) + first on.
struct Filter {
  double step = 1;  // the filter argument's difference from one input to the next
  int64_t first = 0, count = 1;
};

Filter FilterOf(const ResizeParam& param, const ResizeAxis& axis) {
  Filter filter;
  if (param.mode == ResizeMode::kNearest) return filter;
  const double radius = param.mode == ResizeMode::kLinear ? 1 : 2;
  if (param.antialias) filter.step = std::min(axis.scale, 1.0);
  filter.first = static_cast<int64_t>(std::floor(-radius / filter.step)) + 1;
  filter.count = 2 - 2 * filter.first;
  return filter;
}

// Returns the first input of an output, before it is clamped to the tensor.
int64_t FirstOf(const ResizeParam& param, const Filter& filter, double coordinate) {
  if (param.mode == ResizeMode::kNearest) return Nearest(param.rounding, coordinate);
  return static_cast<int64_t>(std::floor(coordinate)) + filter.first;
}

absl::Status SetTarget(const ResizeParam& param, absl::Span<const InputInfo> inputs,
                       std::vector<ResizeAxis>& axes) {
  if (inputs[1].type.dtype != DType::kFloat32) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, IntegerVector(inputs[1], "sizes"));
    if (sizes.size() != axes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(sizes.size(), " sizes for ", axes.size(), " axes"));
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      if (sizes[i] < 1 || sizes[i] > Shape::kMaxBytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("size ", sizes[i], " of axis ", axes[i].axis, ", expected at least 1"));
      }
      axes[i].whole_output = sizes[i];
      axes[i].scale = static_cast<double>(sizes[i]) / static_cast<double>(axes[i].whole_input);
    }
    return absl::OkStatus();
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<float> scales, FloatVector(inputs[1], "scales"));
  if (scales.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(scales.size(), " scales for ", axes.size(), " axes"));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const float exact = static_cast<float>(axes[i].whole_input) * scales[i];
    const float size = std::floor(param.rounds_sizes ? exact + 0.5f : exact);
    if (!(size >= 1 && size <= static_cast<float>(Shape::kMaxBytes))) {
      return absl::InvalidArgumentError(absl::StrCat("scale ", scales[i], " of axis ", axes[i].axis,
                                                     " makes ", axes[i].whole_input, " elements ",
                                                     size, ", expected at least 1"));
    }
    axes[i].whole_output = static_cast<int64_t>(size);
    axes[i].scale = scales[i];
  }
  return absl::OkStatus();
}

absl::Status SetRoi(const ResizeParam& param, absl::Span<const InputInfo> inputs,
                    std::vector<ResizeAxis>& axes) {
  const bool crops = param.coordinates == ResizeCoordinates::kTfCropAndResize;
  if (inputs.size() != (crops ? 3 : 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat(inputs.size(), " inputs, expected x, the target",
                     crops ? " and, as it is TF_CROP_AND_RESIZE, a region" : ""));
  }
  if (!crops) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<float> roi, FloatVector(inputs[2], "the region"));
  if (roi.size() != 2 * axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a region of ", roi.size(), " numbers for ", axes.size(), " axes"));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].roi_begin = roi[i];
    axes[i].roi_end = roi[axes.size() + i];
    if (!(std::fabs(axes[i].roi_begin) <= 1e6 && std::fabs(axes[i].roi_end) <= 1e6)) {
      return absl::InvalidArgumentError(absl::StrCat("the region's axis ", axes[i].axis,
                                                     " is not in reach: ", roi[i], " to ",
                                                     roi[axes.size() + i]));
    }
  }
  return absl::OkStatus();
}

absl::Status SetPart(const ResizeParam& param, std::vector<ResizeAxis>& axes) {
  if (param.part.empty()) return absl::OkStatus();
  if (param.part.size() != kPartNumbers * axes.size()) {
    return absl::InvalidArgumentError(absl::StrCat("parameter part has ", param.part.size(),
                                                   " numbers, expected ",
                                                   kPartNumbers * axes.size()));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizeAxis& axis = axes[i];
    axis.output_begin = param.part[kPartNumbers * i];
    axis.output = param.part[kPartNumbers * i + 1];
    axis.input_begin = param.part[kPartNumbers * i + 2];
    const Range given = {axis.input_begin, axis.input_begin + axis.input};
    const Range wanted = {axis.output_begin, axis.output_begin + axis.output};
    const bool inside = axis.input_begin >= 0 && given.end <= axis.whole_input &&
                        axis.output_begin >= 0 && axis.output >= 1 &&
                        wanted.end <= axis.whole_output;
    if (!inside || !given.Contains(NeededBy(param, axis, wanted))) {
      return absl::InvalidArgumentError(
          absl::StrCat("part of axis ", axis.axis, ": outputs [", wanted.begin, ", ", wanted.end,
                       ") of ", axis.whole_output, " are not made of inputs [", given.begin, ", ",
                       given.end, ") of ", axis.whole_input));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ResizeAxis>> ResizeAxesOf(const ResizeParam& param,
                                                     absl::Span<const InputInfo> inputs) {
  if (inputs.size() < 2) return CheckInputCount(inputs, 2);
  const Shape& shape = inputs[0].type.shape;
  std::vector<ResizeAxis> axes;
  std::set<int> seen;
  for (const int64_t given : param.axes) {
    ResizeAxis axis;
    ASHLAR_ASSIGN_OR_RETURN(axis.axis, NormalizeAxis(given, shape.rank()));
    if (!seen.insert(axis.axis).second) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis.axis, " is resized twice"));
    }
    axis.fixed_point =
        param.mode == ResizeMode::kLinear && IsQuantizedTo8Bits(inputs[0].type.dtype);
    axis.whole_input = axis.input = shape[axis.axis];
    // For a tile: the pixels of the whole.
    const size_t whole = kPartNumbers * axes.size() + kPartNumbers - 1;
    if (whole < param.part.size()) axis.whole_input = param.part[whole];
    if (axis.whole_input < axis.input || axis.whole_input > kLongestAxis) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis.axis, " has ", axis.input,
                                                     " elements of ", axis.whole_input,
                                                     ", at most ", kLongestAxis, " allowed"));
    }
    axes.push_back(axis);
  }
  ASHLAR_RETURN_IF_ERROR(SetTarget(param, inputs, axes));
  for (ResizeAxis& axis : axes) axis.output = axis.whole_output;
  ASHLAR_RETURN_IF_ERROR(SetRoi(param, inputs, axes));
  ASHLAR_RETURN_IF_ERROR(SetPart(param, axes));
  return axes;
}

FixedPointPositions FixedPointPositionsOf(const ResizeParam& param, const ResizeAxis& axis) {
  const auto rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  if (param.coordinates == ResizeCoordinates::kAlignCorners && axis.whole_output > 1) {
    return {rounded(static_cast<double>(axis.whole_input - 1) /
                    static_cast<double>(axis.whole_output - 1))};
  }
  const double step = rounded(1 / axis.scale);
  const bool halves = param.coordinates == ResizeCoordinates::kHalfPixel;
  return {step, halves ? rounded(0.5 * step - 0.5) : 0};
}

Range NeededBy(const ResizeParam& param, const ResizeAxis& axis, const Range& outputs) {
  const Filter filter = FilterOf(param, axis);
  // Coordinates increase or decrease with outputs.
  int64_t first = FirstOf(param, filter, CoordinateOf(param, axis, outputs.begin));
  int64_t last = FirstOf(param, filter, CoordinateOf(param, axis, outputs.end - 1));
  if (first > last) std::swap(first, last);
  const int64_t most = axis.whole_input - 1;
  return {std::clamp<int64_t>(first, 0, most),
          std::clamp<int64_t>(last + filter.count - 1, 0, most) + 1};
}

Range NeedingOf(const ResizeParam& param, const ResizeAxis& axis, const Range& inputs) {
  if (axis.roi_end < axis.roi_begin) return {0, axis.whole_output};
  const auto needed = [&](int64_t output) { return NeededBy(param, axis, {output, output + 1}); };
  // Returns the first output for which `holds`; it then holds for all later ones.
  const auto first = [&](const auto& holds) {
    int64_t low = 0, high = axis.whole_output;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (holds(needed(middle))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  return {first([&](const Range& range) { return range.end > inputs.begin; }),
          first([&](const Range& range) { return range.begin >= inputs.end; })};
}

ResizeTaps TapsOf(const ResizeParam& param, const ResizeAxis& axis) {
  const Filter filter = FilterOf(param, axis);
  ResizeTaps taps;
  taps.taps = filter.count;
  taps.index.resize(static_cast<size_t>(filter.count * axis.output));
  taps.weight.resize(taps.index.size());
  const double most = static_cast<double>(axis.whole_input - 1);
  for (int64_t o = 0; o < axis.output; ++o) {
    const double x = CoordinateOf(param, axis, axis.output_begin + o);
    const int64_t first = FirstOf(param, filter, x);
    const double fraction =
        axis.fixed_point ? FixedPointWeight(x) / double{kFixedPointOne} : x - std::floor(x);
    const bool outside =
        param.coordinates == ResizeCoordinates::kTfCropAndResize && (x < 0 || x > most);
    double sum = 0;
    for (int64_t t = 0; t < filter.count; ++t) {
      const int64_t input = first + t;
      const double argument = filter.step * (static_cast<double>(filter.first + t) - fraction);
      double weight = param.mode == ResizeMode::kNearest  ? 1
                      : param.mode == ResizeMode::kLinear ? LinearFilter(argument)
                                                          : CubicFilter(param.cubic_a, argument);
      if (param.exclude_outside && param.mode != ResizeMode::kNearest &&
          (input < 0 || input >= axis.whole_input)) {
        weight = 0;
      }
      sum += weight;
      const auto at = static_cast<size_t>(t * axis.output + o);
      taps.index[at] = static_cast<int32_t>(std::clamp<int64_t>(input, 0, axis.whole_input - 1) -
                                            axis.input_begin);
      taps.weight[at] = weight;
    }
    const bool normalizes = param.antialias || param.exclude_outside;
    for (int64_t t = 0; normalizes && sum != 0 && t < filter.count; ++t) {
      taps.weight[static_cast<size_t>(t * axis.output + o)] /= sum;
    }
    if (outside) taps.index[static_cast<size_t>(o)] = -1;
  }
  return taps;
}

bool Extrapolates(const ResizeTaps& taps, int64_t outputs) {
  return std::any_of(taps.index.begin(), taps.index.begin() + outputs,
                     [](int32_t index) { return index < 0; });
}

}  // namespace ashlar
