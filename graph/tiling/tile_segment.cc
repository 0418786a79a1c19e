#include "graph/tiling/tile_segment.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/status.h"

namespace ashlar {
namespace {

std::string TextOf(const TileSegment& segment) {
  return absl::StrCat("tile segment ", segment.Ends());
}

// Returns the nodes of `nodes` on paths from a node of `from` to a node of `to` that pass no other
// node of `from`.
absl::StatusOr<std::vector<int>> NodesBetween(const Graph& graph, const TileSegment& segment,
                                              absl::Span<const int> nodes,
                                              absl::Span<const int> from,
                                              absl::Span<const int> to) {
  const size_t count = graph.nodes().size();
  std::vector<bool> begins(count, false), after(count, false), before(count, false);
  for (int node : from) begins[node] = true;
  for (int node : nodes) {
    const std::vector<int>& inputs = graph.node(node).inputs;
    after[node] = std::any_of(inputs.begin(), inputs.end(), [&](int var) {
      const int producer = graph.var(var).producer;
      return begins[producer] || after[producer];
    });
  }
  for (int node : to) before[node] = true;
  std::vector<int> between;
  for (size_t i = nodes.size(); i-- > 0;) {
    const int node = nodes[i];
    if (!before[node] || begins[node]) continue;
    for (int var : graph.node(node).inputs) before[graph.var(var).producer] = true;
    if (!after[node]) continue;
    if (graph.node(node).op->role() != Role::kCompute) {
      return absl::InvalidArgumentError(absl::StrCat(TextOf(segment), ": ", graph.node(node).name,
                                                     " is not computed and cannot be tiled"));
    }
    if (graph.node(node).outputs.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(TextOf(segment), ": ", graph.node(node).name,
                                                     " has several outputs and cannot be tiled"));
    }
    const Var& output = graph.var(graph.node(node).outputs[0]);
    if (output.type.shape.num_elements() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(TextOf(segment), ": ", output.name, " is ",
                                                     output.type.ToString(),
                                                     ", which has no parts"));
    }
    between.push_back(node);
  }
  std::reverse(between.begin(), between.end());
  if (between.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(TextOf(segment), ": operator ", segment.to,
                                                   " does not depend on operator ", segment.from));
  }
  return between;
}

// Sorts groups of nodes so that each comes after the groups that it needs.
class GroupOrder {
 public:
  // By node: its group, or -1 if the node is not in a group.
  GroupOrder(const Graph& graph, const std::vector<int>& group_of,
             const std::vector<std::vector<int>>& members)
      : graph_(graph), group_of_(group_of), members_(members), state_(members.size(), kNew) {}

  // Appends groups in the order of the first call for each; InvalidArgument for a circle.
  absl::Status Visit(int group, std::vector<int>& order) {
    std::vector<int> stack = {group};
    while (!stack.empty()) {
      const int top = stack.back();
      if (state_[top] == kNew) {
        state_[top] = kOpen;
        const size_t height = stack.size();
        for (int node : members_[top]) {
          for (int var : graph_.node(node).inputs) {
            const int needed = group_of_[graph_.var(var).producer];
            if (needed < 0 || needed == top || state_[needed] == kDone) continue;
            if (state_[needed] == kOpen) {
              return absl::InvalidArgumentError(
                  absl::StrCat("a tile segment needs ", graph_.node(node).inputs.size(),
                               " inputs, of which ", graph_.var(var).name, " follows from it"));
            }
            stack.push_back(needed);
          }
        }
        if (stack.size() > height) continue;
      }
      stack.pop_back();
      if (state_[top] == kDone) continue;
      state_[top] = kDone;
      order.push_back(top);
    }
    return absl::OkStatus();
  }

 private:
  enum State : uint8_t { kNew, kOpen, kDone };
  const Graph& graph_;
  const std::vector<int>& group_of_;
  const std::vector<std::vector<int>>& members_;
  std::vector<State> state_;
};

}  // namespace

absl::StatusOr<TileItems> FindSegments(const Graph& graph, absl::Span<const TileSegment> segments,
                                       absl::Span<const int> nodes) {
  TileItems result;
  absl::flat_hash_map<int, int> by_id;
  if (!segments.empty()) {
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
      by_id[graph.node(static_cast<int>(i)).id] = static_cast<int>(i);
    }
  }
  std::vector<int> segment_of(graph.nodes().size(), -1);
  for (const TileSegment& spec : segments) {
    FoundSegment segment;
    segment.spec = spec;
    const auto find = [&](int first,
                          absl::Span<const int> also) -> absl::StatusOr<std::vector<int>> {
      std::vector<int> found;
      for (size_t k = 0; k <= also.size(); ++k) {
        const int id = k == 0 ? first : also[k - 1];
        const auto node = by_id.find(id);
        if (node == by_id.end()) {
          return absl::InvalidArgumentError(
              absl::StrCat(TextOf(spec), ": the graph has no operator ", id));
        }
        found.push_back(node->second);
      }
      return found;
    };
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> from, find(spec.from, spec.also_from));
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> to, find(spec.to, spec.also_to));
    if (spec.kind == TileKind::kInputGrid && from.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(TextOf(spec), ": a grid over the input of ", from.size(), " tensors"));
    }
    for (const int node : from) segment.inputs.push_back(graph.node(node).outputs[0]);
    ASHLAR_ASSIGN_OR_RETURN(segment.nodes, NodesBetween(graph, spec, nodes, from, to));
    const int index = static_cast<int>(result.segments.size());
    for (int node : segment.nodes) {
      if (segment_of[node] >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(TextOf(spec), ": ", graph.node(node).name, " is in ",
                         TextOf(result.segments[segment_of[node]].spec), " already"));
      }
      segment_of[node] = index;
    }
    for (int node : segment.nodes) {
      for (int var : graph.node(node).outputs) {
        const std::vector<int>& readers = graph.readers(var);
        if (std::any_of(readers.begin(), readers.end(),
                        [&](int reader) { return segment_of[reader] != index; })) {
          segment.outputs.push_back(var);
        }
      }
    }
    for (const int id : spec.again) {
      const auto node = by_id.find(id);
      if (node == by_id.end() || segment_of[node->second] != index) {
        return absl::InvalidArgumentError(
            absl::StrCat(TextOf(spec), ": operator ", id, ", to be computed again, is not in it"));
      }
      const int var = graph.node(node->second).outputs[0];
      const std::vector<int>& outputs = segment.outputs;
      if (std::find(outputs.begin(), outputs.end(), var) != outputs.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat(TextOf(spec), ": operator ", id, " cannot be computed again, because ",
                         graph.var(var).name, " is read outside of it"));
      }
      segment.again.insert(var);
    }
    ASHLAR_ASSIGN_OR_RETURN(segment.parts, FindSegments(graph, spec.inner, segment.nodes));
    result.segments.push_back(std::move(segment));
  }

  std::vector<int> group_of(graph.nodes().size(), -1);
  std::vector<std::vector<int>> members(result.segments.size());
  for (size_t s = 0; s < result.segments.size(); ++s) {
    members[s] = result.segments[s].nodes;
    for (int node : members[s]) group_of[node] = static_cast<int>(s);
  }
  for (int node : nodes) {
    if (group_of[node] >= 0) continue;
    group_of[node] = static_cast<int>(members.size());
    members.push_back({node});
  }
  GroupOrder visitor(graph, group_of, members);
  std::vector<int> order;
  for (int node : nodes) ASHLAR_RETURN_IF_ERROR(visitor.Visit(group_of[node], order));
  for (int group : order) {
    const bool is_segment = group < static_cast<int>(result.segments.size());
    result.items.push_back(is_segment ? TileItem{-1, group} : TileItem{members[group][0], -1});
  }
  return result;
}

std::vector<int> CompleteOrder(const Graph& graph, absl::Span<const int> order) {
  std::vector<int> group_of(graph.nodes().size());
  std::vector<std::vector<int>> members(graph.nodes().size());
  for (size_t i = 0; i < members.size(); ++i) {
    group_of[i] = static_cast<int>(i);
    members[i] = {static_cast<int>(i)};
  }
  GroupOrder visitor(graph, group_of, members);
  std::vector<int> complete;
  for (int node : order) visitor.Visit(node, complete).IgnoreError();  // a graph has no circles
  for (size_t i = 0; i < members.size(); ++i) {
    visitor.Visit(static_cast<int>(i), complete).IgnoreError();
  }
  return complete;
}

}  // namespace ashlar
