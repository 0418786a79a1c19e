#include "opr/row_wise.h"

#include <utility>

#include "opr/aliasing.h"

namespace ashlar {

std::optional<std::vector<Region>> AxisOperator::InputRegions(const Region& output,
                                                              const Site& site) const {
  const std::optional<int> axis = AxisOf(site);
  if (!axis || output[*axis] != Range{0, site.outputs[0].shape[*axis]}) return std::nullopt;
  std::vector<Region> regions;
  for (const InputInfo& input : site.inputs) {
    Region region = output;
    region[*axis] = {0, input.type.shape[*axis]};
    regions.push_back(std::move(region));
  }
  return regions;
}

std::optional<Region> AxisOperator::OutputRegion(int /*input*/, const Region& region,
                                                 const Site& site) const {
  const std::optional<int> axis = AxisOf(site);
  if (!axis) return std::nullopt;
  Region result = region;
  result[*axis] = {0, site.outputs[0].shape[*axis]};
  return result;
}

Aliasing RowWiseOperator::aliasing(const Site& site) const { return OverwritesInput(0, site); }

}  // namespace ashlar
