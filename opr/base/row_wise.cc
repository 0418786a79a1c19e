#include "opr/base/row_wise.h"

#include <utility>

#include "opr/base/aliasing.h"

namespace ashlar {

std::optional<std::vector<Region>> AxisOperator::InputRegions(const Region& output,
                                                              const Site& site) const {
  const std::optional<Axes> axes = AxesOf(site);
  if (!axes) return std::nullopt;
  for (int axis = axes->begin; axis < axes->end; ++axis) {
    if (output[axis] != Range{0, site.outputs[0].shape[axis]}) return std::nullopt;
  }
  std::vector<Region> regions;
  for (const InputInfo& input : site.inputs) {
    const Shape& shape = input.type.shape;
    Region region = WholeRegion(shape);
    for (int axis = 0; shape.rank() == static_cast<int>(output.size()) && axis < shape.rank();
         ++axis) {
      if (axis < axes->begin || axis >= axes->end) region[axis] = output[axis];
    }
    regions.push_back(std::move(region));
  }
  return regions;
}

std::optional<Region> AxisOperator::OutputRegion(int input, const Region& region,
                                                 const Site& site) const {
  const std::optional<Axes> axes = AxesOf(site);
  if (!axes) return std::nullopt;
  Region result = WholeRegion(site.outputs[0].shape);
  if (site.inputs[input].type.shape.rank() != site.outputs[0].shape.rank()) return result;
  for (int axis = 0; axis < static_cast<int>(result.size()); ++axis) {
    if (axis < axes->begin || axis >= axes->end) result[axis] = region[axis];
  }
  return result;
}

Aliasing RowWiseOperator::aliasing(const Site& site) const { return OverwritesInput(0, site); }

}  // namespace ashlar
