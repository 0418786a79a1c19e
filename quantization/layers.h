// Decides which operators of a graph compute in 8 bits, and which tensors of these operators share
// a type.
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
  kRounded,    // an 8-bit operator, whose output has its own range
  kMoved,      // an operator that only moves bytes: all its tensors share one type
  kSaturated,  // no operator in 8 bits: its input is computed in its type, which clamps the same
               // way
};

struct LayerPlan {
  std::vector<Treatment> treatment;  // by node
  std::vector<std::string> reasons;  // by node, the reason why it computes in floats
  std::vector<int> type_of;          // by var, the var whose type it shares; -1: never in 8 bits
  std::vector<bool> ranged;          // by var, whether its values count for the range of that type
  bool IsBytes(const Graph& graph, int var) const {  // whether the var is computed in 8 bits
    return treatment[static_cast<size_t>(graph.var(var).producer)] != Treatment::kFloats;
  }
};

// Plans the layers of `graph`, a result of FuseForQuantization. Nodes named in `keep`, and nodes
// for which the device has no kernel, stay in floats.
LayerPlan PlanLayers(const Graph& graph, const std::set<std::string>& keep, const Device& device);

// Returns the inputs of a node that are Float32 values of a run.
std::vector<size_t> ComputedInputs(const Graph& graph, const OperatorNode& node);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_LAYERS_H_
