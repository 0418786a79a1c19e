// Which operators of a graph compute with 8 bits, and which of their tensors are of one type.
#ifndef ASHLAR_QUANTIZATION_LAYERS_H_
#define ASHLAR_QUANTIZATION_LAYERS_H_

#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/device/device.h"

namespace ashlar {

enum class Treatment {
  kFloats,
  kRounded,    // an operator of 8 bits, whose output has a range of its own
  kMoved,      // the same operator, which moves bytes: all its tensors are of one type
  kSaturated,  // none: its input is made in its type, which clamps as it does
};

struct LayerPlan {
  std::vector<Treatment> treatment;  // by node
  std::vector<std::string> reasons;  // by node that computes with floats, why
  std::vector<int> type_of;          // by var, a var whose type it has; -1: never in 8 bits
  std::vector<bool> ranged;          // by var, whether its values count for that type's range
  bool IsBytes(const Graph& graph, int var) const {  // whether the var is made in 8 bits
    return treatment[static_cast<size_t>(graph.var(var).producer)] != Treatment::kFloats;
  }
};

// `graph` is of FuseForQuantization. Nodes named in `keep` stay in floats, and those for which the
// device has no kernel.
LayerPlan PlanLayers(const Graph& graph, const std::set<std::string>& keep, const Device& device);

// The inputs of a node that are values of a run in Float32.
std::vector<size_t> ComputedInputs(const Graph& graph, const OperatorNode& node);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_LAYERS_H_
