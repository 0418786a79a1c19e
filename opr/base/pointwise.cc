#include "opr/base/pointwise.h"

#include <algorithm>
#include <utility>

#include "opr/base/aliasing.h"

namespace ashlar {

StorageRules PointwiseOperator::storage_rules(const Site& site) const {
  const bool fits = std::all_of(site.inputs.begin(), site.inputs.end(), [](const InputInfo& input) {
    return input.type.shape.rank() <= 4;
  });
  return {.format = fits ? FormatRule::kFollow : FormatRule::kDefaultOnly,
          .precision = PrecisionRule::kFollow};
}

Aliasing PointwiseOperator::aliasing(const Site& site) const { return OverwritesInputs(site); }

std::optional<std::vector<Region>> PointwiseOperator::InputRegions(const Region& output,
                                                                   const Site& site) const {
  std::vector<Region> regions;
  for (const InputInfo& input : site.inputs) {
    const Shape& shape = input.type.shape;
    const int leading = static_cast<int>(output.size()) - shape.rank();
    Region region;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      region.push_back(shape[axis] == 1 ? Range{0, 1} : output[leading + axis]);
    }
    regions.push_back(std::move(region));
  }
  return regions;
}

std::optional<Region> PointwiseOperator::OutputRegion(int input, const Region& region,
                                                      const Site& site) const {
  const Shape &from = site.inputs[input].type.shape, &to = site.outputs[0].shape;
  Region result = WholeRegion(to);
  const int leading = to.rank() - from.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from[axis] == to[leading + axis]) result[leading + axis] = region[axis];
  }
  return result;
}

}  // namespace ashlar
