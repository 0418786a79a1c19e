#include "graph/operator.h"

namespace ashlar {

Footprint FootprintOf(const Operator& op, const Site& site) {
  const auto bytes = [](const TensorType& type) {
    return type.shape.num_elements() * SizeOf(type.dtype);
  };
  Footprint footprint;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (op.input_use(static_cast<int>(i)) != InputUse::kDeviceValue) continue;
    footprint.memory += bytes(site.inputs[i].type);
  }
  for (const TensorType& output : site.outputs) footprint.memory += bytes(output);
  footprint.computation = op.Computation(site);
  return footprint;
}

}  // namespace ashlar
