#include "opr/regions.h"

namespace ashlar {

std::vector<Region> BroadcastRegions(const Region& output, absl::Span<const InputInfo> inputs) {
  std::vector<Region> regions;
  for (const InputInfo& input : inputs) {
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

Region BroadcastOutputRegion(const Region& region, const TensorType& input,
                             const TensorType& output) {
  Region result = WholeRegion(output.shape);
  const int leading = output.shape.rank() - input.shape.rank();
  for (int axis = 0; axis < input.shape.rank(); ++axis) {
    if (input.shape[axis] == output.shape[leading + axis]) result[leading + axis] = region[axis];
  }
  return result;
}

std::optional<std::vector<Region>> RegionsAcross(const Region& output, int axis,
                                                 absl::Span<const InputInfo> inputs,
                                                 absl::Span<const TensorType> outputs) {
  if (output[axis] != Range{0, outputs[0].shape[axis]}) return std::nullopt;
  std::vector<Region> regions;
  for (const InputInfo& input : inputs) {
    Region region = output;
    region[axis] = {0, input.type.shape[axis]};
    regions.push_back(std::move(region));
  }
  return regions;
}

Region OutputRegionAcross(const Region& region, int axis, const TensorType& output) {
  Region result = region;
  result[axis] = {0, output.shape[axis]};
  return result;
}

std::vector<Operand> OwnOperands(size_t count) {
  std::vector<Operand> operands(count);
  for (size_t i = 0; i < count; ++i) operands[i].input = static_cast<int>(i);
  return operands;
}

}  // namespace ashlar
