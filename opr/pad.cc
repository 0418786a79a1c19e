#include "opr/pad.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "graph/graph_builder.h"
#include "opr/base/operands.h"
#include "opr/conv_bias.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Pad)

namespace {

// The largest number of elements added at one end; sums of three such numbers do not overflow.
constexpr int64_t kMostPadding = Shape::kMaxBytes;

absl::StatusOr<PadAxis> AxisOf(PadMode mode, int64_t size, int64_t begin, int64_t end) {
  if (std::min(begin, end) < -kMostPadding || std::max(begin, end) > kMostPadding) {
    return absl::InvalidArgumentError(
        absl::StrCat("padding ", begin, " and ", end, ", at most ", kMostPadding, " allowed"));
  }
  PadAxis axis;
  axis.first = std::max<int64_t>(-begin, 0);
  axis.kept = size - axis.first - std::max<int64_t>(-end, 0);
  axis.before = std::max<int64_t>(begin, 0);
  axis.behind = std::max<int64_t>(end, 0);
  if (axis.kept < 0) {
    return absl::InvalidArgumentError(absl::StrCat("padding ", begin, " and ", end, " of ", size,
                                                   " elements takes away more than there are"));
  }
  if (axis.kept == 0 && axis.output() > 0 && mode != PadMode::kConstant) {
    return absl::InvalidArgumentError(
        absl::StrCat("padding ", begin, " and ", end, " of ", size, " elements repeats none"));
  }
  return axis;
}

}  // namespace

int64_t PadAxis::InputOf(PadMode mode, int64_t o) const {
  const int64_t i = o - before;
  if (i >= 0 && i < kept) return first + i;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return first + (i < 0 ? 0 : kept - 1);
    case PadMode::kWrap:
      return first + i - FloorDivide(i, kept) * kept;
    case PadMode::kReflect:
      break;
  }
  if (kept == 1) return first;
  const int64_t period = 2 * (kept - 1), at = i - FloorDivide(i, period) * period;
  return first + std::min(at, period - at);
}

absl::StatusOr<std::vector<PadAxis>> PadAxesOf(const PadParam& param, const TensorType& x) {
  const auto rank = static_cast<size_t>(x.shape.rank());
  if (param.begin.size() != rank || param.end.size() != rank) {
    return absl::InvalidArgumentError(absl::StrCat("padding of ", param.begin.size(), " and ",
                                                   param.end.size(), " dimensions for ",
                                                   x.ToString()));
  }
  std::vector<PadAxis> axes;
  for (size_t i = 0; i < rank; ++i) {
    absl::StatusOr<PadAxis> axis =
        AxisOf(param.mode, x.shape[static_cast<int>(i)], param.begin[i], param.end[i]);
    if (!axis.ok()) return Annotate(axis.status(), absl::StrCat("dimension ", i));
    axes.push_back(*axis);
  }
  return axes;
}

absl::StatusOr<std::vector<TensorType>> Pad::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<PadAxis> axes, PadAxesOf(param(), x));
  std::vector<int64_t> dims;
  for (const PadAxis& axis : axes) dims.push_back(axis.output());
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return std::vector<TensorType>{{x.dtype, shape}};
}

absl::StatusOr<std::vector<HostTensor>> Pad::Evaluate(absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  const TensorType type = {x.dtype(), x.shape()};
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<PadAxis> axes, PadAxesOf(param(), type));
  Shape shape = x.shape();
  for (int i = 0; i < shape.rank(); ++i) shape[i] = axes[static_cast<size_t>(i)].output();
  HostTensor y = HostTensor::Zeros(x.dtype(), shape);
  const auto strides = ContiguousStrides(x.shape());
  const auto size = static_cast<size_t>(SizeOf(x.dtype()));
  for (int64_t o = 0; o < y.num_elements(); ++o) {
    int64_t rest = o, from = 0;
    bool constant = false;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      const int64_t input = axes[static_cast<size_t>(i)].InputOf(param().mode, rest % shape[i]);
      constant = constant || input < 0;
      from += input * strides[i];
      rest /= shape[i];
    }
    if (constant) {
      y.Set(o, param().value);
    } else {
      std::memcpy(static_cast<char*>(y.mutable_raw()) + o * static_cast<int64_t>(size),
                  static_cast<const char*>(x.raw()) + from * static_cast<int64_t>(size), size);
    }
  }
  return std::vector<HostTensor>{std::move(y)};
}

StorageRules Pad::storage_rules(const Site& site) const {
  const Shape &x = site.inputs[0].type.shape, &y = site.outputs[0].shape;
  const bool planes = x.rank() == 4 && x[0] == y[0] && x[1] == y[1] && param().begin[0] == 0 &&
                      param().begin[1] == 0;
  return {planes ? FormatRule::kUniform : FormatRule::kDefaultOnly, PrecisionRule::kFollow};
}

std::optional<std::vector<Region>> Pad::InputRegions(const Region& output, const Site& site) const {
  const Shape& shape = site.inputs[0].type.shape;
  if (param().mode != PadMode::kConstant || shape.num_elements() == 0) return std::nullopt;
  Region region;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t shift = param().begin[static_cast<size_t>(i)];
    const Range clipped =
        Intersection({output[i].begin - shift, output[i].end - shift}, {0, shape[i]});
    const int64_t nearest = std::clamp<int64_t>(clipped.begin, 0, shape[i] - 1);
    region.push_back(clipped.empty() ? Range{nearest, nearest + 1} : clipped);
  }
  return std::vector<Region>{region};
}

std::optional<Region> Pad::OutputRegion(int /*input*/, const Region& region,
                                        const Site& /*site*/) const {
  if (param().mode != PadMode::kConstant) return std::nullopt;
  Region result = region;
  for (size_t i = 0; i < region.size(); ++i) {
    result[i] = {region[i].begin + param().begin[i], region[i].end + param().begin[i]};
  }
  return result;
}

std::optional<Replacement> Pad::AtRegion(const Region& output, absl::Span<const Region> given,
                                         const Site& /*site*/) const {
  PadParam part = param();
  for (size_t i = 0; i < output.size(); ++i) {
    // The wanted and the given elements, as positions among the input's elements.
    const Range wanted = {output[i].begin - param().begin[i], output[i].end - param().begin[i]};
    part.begin[i] = given[0][i].begin - wanted.begin;
    part.end[i] = wanted.end - given[0][i].end;
    // No given element is wanted: all are removed at one end.
    if (part.begin[i] < -given[0][i].size()) {
      part.end[i] += part.begin[i] + given[0][i].size();
      part.begin[i] = -given[0][i].size();
    } else if (part.end[i] < -given[0][i].size()) {
      part.begin[i] += part.end[i] + given[0][i].size();
      part.end[i] = -given[0][i].size();
    }
  }
  return Replacement{std::make_shared<const Pad>(std::move(part)), OwnOperands(1)};
}

}  // namespace ashlar
