#include "runtime/plan/record/recorded_tiles.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ashlar {

std::string TilesKey(const Graph& graph, const PlanTarget& target,
                     const PlanningOptions& planning) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const OperatorNode& node : graph.nodes()) {
    std::string text = absl::StrCat(node.id, " ", node.op->type(), " ", ToString(node.op->params()),
                                    " ", absl::StrJoin(node.inputs, ","));
    for (const TensorType& type : graph.OutputTypes(node)) {
      absl::StrAppend(&text, " ", type.ToString());
    }
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return absl::StrCat(graph.nodes().size(), " operators, ", absl::Hex(hash, absl::kZeroPad16), ", ",
                      Name(target.precision), ", ", planning.passes,
                      planning.kernels.exact ? ", exact" : "",
                      planning.kernels.low_workspace ? ", least memory" : "",
                      planning.inplace ? "" : ", copies", target.release_input ? ", released" : "");
}

TileSpec TilesOnRecord(const Graph& graph, const PlanRequest& request) {
  const auto& [target, planning, debug] = request;
  if (!target.tuned_tiles || target.tiled()) return {};
  if (planning.record == nullptr || planning.record->tiles.empty()) return {};
  const auto found = planning.record->tiles.find(TilesKey(graph, target, planning));
  if (found == planning.record->tiles.end()) return {};
  const auto tiles = found->second.find(target.threads);
  return tiles == found->second.end() ? TileSpec() : tiles->second;
}

}  // namespace ashlar
