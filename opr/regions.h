// Region rules that several operators share (Operator::InputRegions and the like).
#ifndef ASHLAR_OPR_REGIONS_H_
#define ASHLAR_OPR_REGIONS_H_

#include <optional>
#include <vector>

#include "graph/operator.h"

namespace ashlar {

// Element by element, each input broadcast to the output.
std::vector<Region> BroadcastRegions(const Region& output, absl::Span<const InputInfo> inputs);
Region BroadcastOutputRegion(const Region& region, const TensorType& input,
                             const TensorType& output);

// What lies along `axis` is needed as a whole, the rest element by element; all inputs have the
// output's rank. nullopt where the region cuts the axis.
std::optional<std::vector<Region>> RegionsAcross(const Region& output, int axis,
                                                 absl::Span<const InputInfo> inputs,
                                                 absl::Span<const TensorType> outputs);

// The reverse, of any of the inputs.
Region OutputRegionAcross(const Region& region, int axis, const TensorType& output);

// All operands of the operator itself, in order.
std::vector<Operand> OwnOperands(size_t count);

}  // namespace ashlar

#endif  // ASHLAR_OPR_REGIONS_H_
