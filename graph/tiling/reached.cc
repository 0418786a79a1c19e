#include "graph/tiling/reached.h"

#include <optional>

#include "graph/status.h"

namespace ashlar {

absl::StatusOr<Regions> ReachedRegions(RegionBuilder& builder, const FoundSegment& segment,
                                       int axis, int64_t index, int64_t count, Regions* unclipped) {
  const Graph& source = builder.source();
  Regions reached;
  Region& input = reached[segment.inputs[0]];
  input = WholeRegion(source.var(segment.inputs[0]).type.shape);
  if (static_cast<int>(input.size()) <= axis) {
    return absl::InvalidArgumentError("a grid over the input of a segment that is no image");
  }
  input[axis] = PartOf(input[axis], index, count);
  for (int node : segment.nodes) {
    const OperatorNode& n = source.node(node);
    Region sum;
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const auto region = reached.find(n.inputs[k]);
      if (region == reached.end()) continue;
      const std::optional<Region> output =
          n.op->OutputRegion(static_cast<int>(k), region->second, builder.site(node));
      if (!output) {
        return absl::InvalidArgumentError(
            absl::StrCat(Describe(n), " does not say what a part of it reaches"));
      }
      sum = Hull(sum, *output);
    }
    if (sum.empty()) continue;
    if (unclipped != nullptr) (*unclipped)[n.outputs[0]] = sum;
    sum = Clip(sum, source.var(n.outputs[0]).type.shape);
    if (!IsEmpty(sum)) reached[n.outputs[0]] = sum;
  }
  return reached;
}

}  // namespace ashlar
