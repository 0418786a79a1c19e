#include "opr/resize_operator.h"

#include <algorithm>

#include "opr/base/operands.h"
#include "opr/base/saturating_product.h"
#include "opr/resize_axis.h"

namespace ashlar {

StorageRules ResizeOperator::storage_rules(const Site& site) const {
  StorageRules rules = {.precision = PrecisionRule::kFollow};
  const absl::StatusOr<std::vector<ResizeAxis>> axes = ResizeAxesOf(resize(), site.inputs);
  const bool planes = axes.ok() && site.inputs[0].type.shape.rank() == 4 &&
                      std::all_of(axes->begin(), axes->end(),
                                  [](const ResizeAxis& axis) { return axis.axis >= 2; });
  if (planes) rules.format = FormatRule::kUniform;
  return rules;
}

int64_t ResizeOperator::Computation(const Site& site) const {
  if (resize().mode == ResizeMode::kNearest) return 0;
  const int64_t taps = resize().mode == ResizeMode::kLinear ? 2 : 4;
  return SaturatingProduct(
      {site.outputs[0].shape.num_elements(), taps, 2, static_cast<int64_t>(resize().axes.size())});
}

std::optional<std::vector<Region>> ResizeOperator::InputRegions(const Region& output,
                                                                const Site& site) const {
  const absl::StatusOr<std::vector<ResizeAxis>> axes = ResizeAxesOf(resize(), site.inputs);
  if (!axes.ok()) return std::nullopt;
  std::vector<Region> regions;
  for (const InputInfo& input : site.inputs) regions.push_back(WholeRegion(input.type.shape));
  regions[0] = output;
  for (const ResizeAxis& axis : *axes) {
    const Range& range = output[axis.axis];
    const Range needed =
        NeededBy(resize(), axis, {axis.output_begin + range.begin, axis.output_begin + range.end});
    regions[0][axis.axis] = {needed.begin - axis.input_begin, needed.end - axis.input_begin};
  }
  return regions;
}

std::optional<Region> ResizeOperator::OutputRegion(int input, const Region& region,
                                                   const Site& site) const {
  const absl::StatusOr<std::vector<ResizeAxis>> axes = ResizeAxesOf(resize(), site.inputs);
  if (!axes.ok() || input != 0) return std::nullopt;
  Region result = region;
  for (const ResizeAxis& axis : *axes) {
    const Range& range = region[axis.axis];
    const Range needing =
        NeedingOf(resize(), axis, {axis.input_begin + range.begin, axis.input_begin + range.end});
    result[axis.axis] = {needing.begin - axis.output_begin, needing.end - axis.output_begin};
  }
  return result;
}

bool ResizeOperator::CropsInput(int input) const {
  const auto resizes = [&](int64_t axis) {
    return std::find(resize().axes.begin(), resize().axes.end(), axis) != resize().axes.end();
  };
  return input == 0 && resizes(2) && resizes(3);
}

std::optional<Replacement> ResizeOperator::AtRegion(const Region& output,
                                                    absl::Span<const Region> given,
                                                    const Site& site) const {
  const absl::StatusOr<std::vector<ResizeAxis>> axes = ResizeAxesOf(resize(), site.inputs);
  if (!axes.ok()) return std::nullopt;
  ResizeParam part = resize();
  part.part.clear();
  for (const ResizeAxis& axis : *axes) {
    const Range& wanted = output[axis.axis];
    part.part.insert(part.part.end(),
                     {axis.output_begin + wanted.begin, wanted.size(),
                      axis.input_begin + given[0][axis.axis].begin, axis.whole_input});
  }
  return Replacement{With(std::move(part)), OwnOperands(site.inputs.size())};
}

}  // namespace ashlar
