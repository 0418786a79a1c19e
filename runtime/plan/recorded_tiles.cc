#include "runtime/plan/recorded_tiles.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ashlar {

std::string TilesKey(const Graph& graph, const Wishes& wishes, const Means& means) {
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
                      Name(wishes.precision), ", ", means.passes,
                      means.kernels.exact ? ", exact" : "",
                      means.kernels.least_memory ? ", least memory" : "",
                      means.inplace ? "" : ", copies", wishes.release_input ? ", released" : "");
}

absl::StatusOr<TileSpec> ParseTilesOrNone(absl::string_view text) {
  return text == "none" ? TileSpec() : TileSpec::Parse(text);
}

TileSpec TilesOnRecord(const Graph& graph, const PlanRequest& request) {
  const auto& [wishes, means, checks] = request;
  if (!wishes.tuned_tiles || wishes.tiled()) return {};
  if (means.record == nullptr || means.record->tiles.empty()) return {};
  const auto found = means.record->tiles.find(TilesKey(graph, wishes, means));
  if (found == means.record->tiles.end()) return {};
  const auto tiles = found->second.find(wishes.threads);
  return tiles == found->second.end() ? TileSpec() : tiles->second;
}

}  // namespace ashlar
