#include "runtime/plan/tiling/segment_keys.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

SegmentKeys::SegmentKeys(const Graph& graph, absl::Span<const int> order, TilingCosts& costs)
    : graph_(graph), order_(order), costs_(costs), position_(graph.nodes().size(), -1) {
  for (size_t i = 0; i < order.size(); ++i) {
    const OperatorNode& node = graph.node(order[i]);
    position_[order[i]] = static_cast<int>(i);
    contents_.push_back(costs.NumberOf(KernelContents(graph, node)));
  }
}

void SegmentKeys::AppendVar(int var, int first, std::string& key) const {
  const int producer = graph_.var(var).producer;
  if (position_[producer] < 0 || graph_.constant(var) != nullptr) {
    key += " c";
  } else {
    absl::StrAppend(&key, " ", position_[producer] - first, ".", graph_.var(var).output_index);
  }
}

std::vector<TileSegment> SegmentKeys::Moved(std::vector<TileSegment> segments, int first) const {
  const auto move = [&](int& id) {
    const auto at = std::find_if(order_.begin(), order_.end(),
                                 [&](int node) { return graph_.node(node).id == id; });
    id = static_cast<int>(at - order_.begin()) - first;
  };
  for (TileSegment& segment : segments) {
    move(segment.from);
    move(segment.to);
    for (std::vector<int>* ids : {&segment.again, &segment.also_from, &segment.also_to}) {
      for (int& id : *ids) move(id);
    }
    segment.inner = Moved(std::move(segment.inner), first);
  }
  return segments;
}

void SegmentKeys::AppendNodes(int first, int last, const TileSpec& tiles, std::string& key) const {
  for (int i = first; i <= last; ++i) {
    const OperatorNode& node = graph_.node(order_[i]);
    absl::StrAppend(&key, ";", contents_[i]);
    for (const int var : node.inputs) AppendVar(var, first, key);
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (IsOutput(graph_, node.outputs[k])) absl::StrAppend(&key, " o", k);
    }
  }
  absl::StrAppend(&key, "|", TileSpec{Moved(tiles.segments, first)}.ToString());
}

std::string SegmentKeys::Of(const GraphCut& from, const GraphCut& to, const TileSpec& tiles) const {
  const int first = from.position + 1;
  std::string key;
  for (const GraphCut* cut : {&from, &to}) {
    for (const int var : cut->vars()) {
      const Var& tensor = graph_.var(var);
      const bool is_input = graph_.node(tensor.producer).op->role() == Role::kInput;
      AppendVar(var, first, key);
      absl::StrAppend(&key, is_input ? "i" : "v", IsOutput(graph_, var) ? "o" : "",
                      costs_.NumberOf(tensor.type.ToString()));
    }
    key += '-';
  }
  AppendNodes(first, to.position, tiles, key);
  return key;
}

std::string SegmentKeys::OfAll(const TileSpec& tiles) const {
  std::string key = "all";
  AppendNodes(0, static_cast<int>(order_.size()) - 1, tiles, key);
  return key;
}

}  // namespace ashlar
