#include "opr/dimshuffle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "opr/base/aliasing.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Dimshuffle)

absl::StatusOr<std::vector<TensorType>> Dimshuffle::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 1));
  const TensorType& x = inputs[0].type;
  const auto error = [&](auto... what) {
    return absl::InvalidArgumentError(absl::StrCat("pattern {", absl::StrJoin(param().pattern, ","),
                                                   "} of a tensor of shape ", x.shape.ToString(),
                                                   ": ", what...));
  };
  if (param().pattern.size() > Shape::kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat("pattern of ", param().pattern.size(),
                                                   " axes, at most ", Shape::kMaxRank, " allowed"));
  }
  std::vector<bool> listed(x.shape.rank(), false);
  Shape shape;
  for (int64_t axis : param().pattern) {
    if (axis < -1 || axis >= x.shape.rank()) return error("axis ", axis, " is out of range");
    if (axis >= 0 && listed[axis]) return error("axis ", axis, " is listed twice");
    if (axis >= 0) listed[axis] = true;
    shape.push_back(axis < 0 ? 1 : x.shape[static_cast<int>(axis)]);
  }
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    if (!listed[axis] && x.shape[axis] != 1) {
      return error("axis ", axis, " is dropped, expected size 1");
    }
  }
  return std::vector<TensorType>{x.Reshaped(shape)};
}

Strides Dimshuffle::Permuted(const Strides& input) const {
  Strides strides;
  for (int64_t axis : param().pattern) strides.push_back(axis < 0 ? 0 : input[axis]);
  return strides;
}

absl::StatusOr<std::vector<HostTensor>> Dimshuffle::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  Shape shape;
  for (int64_t axis : param().pattern) {
    shape.push_back(axis < 0 ? 1 : x.shape()[static_cast<int>(axis)]);
  }
  HostTensor output = HostTensor::ZerosLike(x, shape);
  CopyStrided(x, 0, Permuted(ContiguousStrides(x.shape())), output);
  return std::vector<HostTensor>{std::move(output)};
}

int64_t Dimshuffle::Computation(const Site& site) const {
  return site.outputs[0].shape.num_elements();
}

bool Dimshuffle::KeepsOrder(const Shape& input) const {
  int64_t last = -1;  // axes of more than one element must stay in order
  for (int64_t axis : param().pattern) {
    if (axis < 0 || input[static_cast<int>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Aliasing Dimshuffle::aliasing(const Site& site) const {
  const TensorType& x = site.inputs[0].type;
  // Channels that move from the last place and are stored there, or the reverse, stay where they
  // are.
  const Format from = x.format, to = site.outputs[0].format;
  using Axes = std::vector<int64_t>;
  if ((from == Format::kDefault && to == Format::kNHWC && param().pattern == Axes{0, 3, 1, 2}) ||
      (from == Format::kNHWC && to == Format::kDefault && param().pattern == Axes{0, 2, 3, 1})) {
    return ViewOfInput();
  }
  if (x.format != Format::kDefault || site.outputs[0].format != Format::kDefault) return {};
  return KeepsOrder(x.shape) ? ViewOfInput() : Aliasing();
}

std::optional<Movement> Dimshuffle::AsMovement(absl::Span<const InputInfo> inputs) const {
  if (KeepsOrder(inputs[0].type.shape)) return Movement();
  const std::vector<int64_t>& axes = param().pattern;
  const bool permutes = static_cast<int>(axes.size()) == inputs[0].type.shape.rank() &&
                        std::count(axes.begin(), axes.end(), -1) == 0;
  return permutes ? std::optional(Movement{axes}) : std::nullopt;
}

std::optional<std::vector<Region>> Dimshuffle::InputRegions(const Region& output,
                                                            const Site& site) const {
  Region region = WholeRegion(site.inputs[0].type.shape);
  for (size_t i = 0; i < param().pattern.size(); ++i) {
    if (param().pattern[i] >= 0) region[param().pattern[i]] = output[i];
  }
  return std::vector<Region>{region};
}

}  // namespace ashlar
