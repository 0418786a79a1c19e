#include "runtime/schedule/storage_model.h"

#include <algorithm>

namespace ashlar {

bool StorageModel::Writes(const Graph& graph, int node) const {
  const std::vector<int>& outputs = graph.node(node).outputs;
  return !writes[node].empty() ||
         std::any_of(outputs.begin(), outputs.end(), [&](int output) { return updated[output]; });
}

}  // namespace ashlar
