#include "opr/subtensor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "opr/base/aliasing.h"
#include "opr/base/axis.h"
#include "opr/base/host_value.h"
#include "opr/base/strided.h"

namespace ashlar {
ASHLAR_MAKE_FROM_PARAMS(Subtensor)

namespace {

// Interprets a bound as Python does: from the end if negative, clipped to [low, high].
int64_t Clip(int64_t bound, int64_t size, int64_t low, int64_t high) {
  return std::clamp(bound < 0 ? bound + size : bound, low, high);
}

struct Bounds {
  std::optional<int64_t> begin, end, step, idx;
};

absl::StatusOr<AxisRange> RangeOf(const Bounds& bounds, int64_t size) {
  if (bounds.idx.has_value()) {
    if (*bounds.idx < -size || *bounds.idx >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("idx ", *bounds.idx, " is out of range for size ", size));
    }
    return AxisRange{*bounds.idx < 0 ? *bounds.idx + size : *bounds.idx, 1, 1, true};
  }
  // Steps beyond the largest possible size all take one element; clipped, they can be negated.
  constexpr int64_t kMaxStep = Shape::kMaxBytes;
  const int64_t step = std::clamp(bounds.step.value_or(1), -kMaxStep, kMaxStep);
  if (step == 0) return absl::InvalidArgumentError("step is 0");
  AxisRange range{0, step, 0, false};
  if (step > 0) {
    range.start = Clip(bounds.begin.value_or(0), size, 0, size);
    const int64_t end = Clip(bounds.end.value_or(size), size, 0, size);
    if (end > range.start) range.count = (end - range.start - 1) / step + 1;
  } else {
    range.start = bounds.begin.has_value() ? Clip(*bounds.begin, size, -1, size - 1) : size - 1;
    const int64_t end = bounds.end.has_value() ? Clip(*bounds.end, size, -1, size - 1) : -1;
    if (range.start > end) range.count = (range.start - end - 1) / -step + 1;
  }
  if (range.count <= 1) range.step = 1;
  if (range.count == 0) range.start = 0;
  return range;
}

}  // namespace

Replacement BoxOf(absl::Span<const AxisRange> ranges, const Shape& shape) {
  SubtensorParam param;
  std::vector<Operand> operands = {{Operand::From::kProducer, 0, {}}};
  const auto bound = [&](int64_t value) {
    operands.push_back({Operand::From::kConstant, 0,
                        HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {&value, 1})});
  };
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    const AxisRange& range = ranges[axis];
    const bool whole =
        range.start == 0 && range.step == 1 && range.count == shape[static_cast<int>(axis)];
    if (whole && !range.dropped) continue;
    const int64_t end = range.start + range.count * range.step;
    const bool given = !range.dropped && end >= 0;  // a negative end would count from the end
    param.axis.push_back(static_cast<int64_t>(axis));
    param.begin.push_back(range.dropped ? 0 : 1);
    param.end.push_back(given ? 1 : 0);
    param.step.push_back(range.dropped ? 0 : 1);
    param.idx.push_back(range.dropped ? 1 : 0);
    bound(range.start);
    if (given) bound(end);
    if (!range.dropped) bound(range.step);
  }
  return {std::make_shared<const Subtensor>(std::move(param)), std::move(operands)};
}

absl::StatusOr<std::vector<AxisRange>> Subtensor::Ranges(absl::Span<const InputInfo> inputs) const {
  const SubtensorParam& p = param();
  const size_t rows = p.axis.size();
  if (p.begin.size() != rows || p.end.size() != rows || p.step.size() != rows ||
      p.idx.size() != rows) {
    return absl::InvalidArgumentError("parameters axis, begin, end, step and idx differ in length");
  }
  if (p.min_rank != 0 && p.min_rank != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter min_rank is ", p.min_rank, ", expected 0 or 1"));
  }
  if (inputs.empty()) return CheckInputCount(inputs, 1);
  const Shape& shape = inputs[0].type.shape;
  std::vector<AxisRange> ranges;
  for (int64_t dim : shape.dims()) ranges.push_back({0, 1, dim, false});
  std::vector<bool> cut(shape.rank(), false);
  size_t next = 1;
  for (size_t row = 0; row < rows; ++row) {
    ASHLAR_ASSIGN_OR_RETURN(int axis, NormalizeAxis(p.axis[row], shape.rank()));
    if (cut[axis]) return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is cut twice"));
    cut[axis] = true;
    if (p.idx[row] != 0 && (p.begin[row] != 0 || p.end[row] != 0 || p.step[row] != 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis, ": idx excludes begin, end and step"));
    }
    Bounds bounds;
    const auto read = [&](int64_t given, absl::string_view what,
                          std::optional<int64_t>& bound) -> absl::Status {
      if (given != 0 && given != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("parameter ", what, " holds ", given, ", expected 0 or 1"));
      }
      if (given == 0) return absl::OkStatus();
      if (next >= inputs.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            inputs.size(), " inputs, expected x and one for each bound of the parameters"));
      }
      ASHLAR_ASSIGN_OR_RETURN(bound, IntegerScalar(inputs[next++], what));
      return absl::OkStatus();
    };
    ASHLAR_RETURN_IF_ERROR(read(p.begin[row], "begin", bounds.begin));
    ASHLAR_RETURN_IF_ERROR(read(p.end[row], "end", bounds.end));
    ASHLAR_RETURN_IF_ERROR(read(p.step[row], "step", bounds.step));
    ASHLAR_RETURN_IF_ERROR(read(p.idx[row], "idx", bounds.idx));
    absl::StatusOr<AxisRange> range = RangeOf(bounds, shape[axis]);
    if (!range.ok()) return Annotate(range.status(), absl::StrCat("axis ", axis));
    ranges[axis] = *range;
  }
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, next));
  const bool keeps_one = std::any_of(ranges.begin(), ranges.end(),
                                     [](const AxisRange& range) { return !range.dropped; });
  if (p.min_rank == 1 && !keeps_one && !ranges.empty()) ranges.back().dropped = false;
  return ranges;
}

absl::StatusOr<std::vector<TensorType>> Subtensor::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<AxisRange> ranges, Ranges(inputs));
  Shape shape;
  for (const AxisRange& range : ranges) {
    if (!range.dropped) shape.push_back(range.count);
  }
  return std::vector<TensorType>{inputs[0].type.Reshaped(shape)};
}

StridedView ViewOf(absl::Span<const AxisRange> ranges, const Strides& input) {
  StridedView view;
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    view.base += ranges[axis].start * input[axis];
    if (!ranges[axis].dropped) view.strides.push_back(ranges[axis].step * input[axis]);
  }
  return view;
}

absl::StatusOr<std::vector<HostTensor>> Subtensor::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const HostTensor& x = inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(std::vector<AxisRange> ranges, Ranges(InfosOf(inputs)));
  Shape shape;
  for (const AxisRange& range : ranges) {
    if (!range.dropped) shape.push_back(range.count);
  }
  const StridedView view = ViewOf(ranges, ContiguousStrides(x.shape()));
  HostTensor output = HostTensor::ZerosLike(x, shape);
  CopyStrided(x, view.base, view.strides, output);
  return std::vector<HostTensor>{std::move(output)};
}

// A range of whole images has the same layout in every format.
StorageRules Subtensor::storage_rules(const Site& site) const {
  StorageRules rules = {.precision = PrecisionRule::kFollow, .moves = true};
  const absl::StatusOr<std::vector<AxisRange>> ranges = Ranges(site.inputs);
  if (!ranges.ok() || ranges->size() != 4) return rules;
  for (size_t axis = 0; axis < 4; ++axis) {
    const AxisRange& range = (*ranges)[axis];
    const bool whole = range.count == site.inputs[0].type.shape[static_cast<int>(axis)];
    if (range.dropped || range.step != 1 || (axis > 0 && !whole)) return rules;
  }
  rules.format = FormatRule::kUniform;
  return rules;
}

Aliasing Subtensor::aliasing(const Site& site) const {
  const TensorType& x = site.inputs[0].type;
  if (x.format != site.outputs[0].format) return {};
  absl::StatusOr<std::vector<AxisRange>> ranges = Ranges(site.inputs);
  if (!ranges.ok()) return {};
  std::vector<int64_t> start, count;
  for (const AxisRange& range : *ranges) {
    if (range.step != 1) return {};
    start.push_back(range.start);
    count.push_back(range.count);
  }
  if (IsBlocked(x.format)) {  // from channels to channel blocks
    const bool whole = count[1] % kChannelBlock == 0 || start[1] + count[1] == x.shape[1];
    if (start[1] % kChannelBlock != 0 || !whole) return {};
    start[1] /= kChannelBlock;
    count[1] = ChannelBlocks(count[1]);
  }
  const int64_t offset = ContiguousOffset(GridOf(x), start, count);
  return offset < 0 ? Aliasing() : ViewOfInput(offset);
}

// If the region does not cut an axis that the box cuts, the whole axis is needed, because its
// bounds stay.
std::optional<std::vector<Region>> Subtensor::InputRegions(const Region& output,
                                                           const Site& site) const {
  const absl::StatusOr<std::vector<AxisRange>> ranges = Ranges(site.inputs);
  if (!ranges.ok()) return std::nullopt;
  const Shape& shape = site.inputs[0].type.shape;
  Region region = WholeRegion(shape);
  int next = 0;  // dimension of the output
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const AxisRange& range = (*ranges)[static_cast<size_t>(axis)];
    if (range.dropped) continue;
    const Range wanted = output[next];
    if (wanted != Range{0, site.outputs[0].shape[next]}) {
      const int64_t first = range.start + wanted.begin * range.step;
      const int64_t last = range.start + (wanted.end - 1) * range.step;
      region[axis] = {std::min(first, last), std::max(first, last) + 1};
    }
    ++next;
  }
  std::vector<Region> regions = {region};
  for (size_t i = 1; i < site.inputs.size(); ++i) {
    regions.push_back(WholeRegion(site.inputs[i].type.shape));
  }
  return regions;
}

std::optional<Replacement> Subtensor::AtRegion(const Region& output, absl::Span<const Region> given,
                                               const Site& site) const {
  absl::StatusOr<std::vector<AxisRange>> ranges = Ranges(site.inputs);
  if (!ranges.ok()) return std::nullopt;
  const Shape& shape = site.inputs[0].type.shape;
  Shape part;
  bool same = true;
  int next = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    AxisRange& range = (*ranges)[static_cast<size_t>(axis)];
    const bool all = range.start == 0 && range.step == 1 && range.count == shape[axis];
    part.push_back(given[0][axis].size());
    if (!range.dropped) {
      const Range wanted = output[next++];
      same = same && (all || wanted == Range{0, range.count});
      range.start += wanted.begin * range.step;
      range.count = wanted.size();
    }
    range.start -= given[0][axis].begin;
  }
  return same ? std::nullopt : std::optional(BoxOf(*ranges, part));
}

}  // namespace ashlar
