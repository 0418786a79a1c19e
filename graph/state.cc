#include "graph/state.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ashlar {

StateUse FindStateUse(const Graph& graph) {
  StateUse use;
  use.state.assign(graph.vars().size(), -1);
  use.version.assign(graph.vars().size(), -1);
  use.updates.assign(graph.nodes().size(), false);
  const auto take = [&](int var, int state, int version) {
    use.state[var] = state;
    use.version[var] = version;
  };
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    if (node.op->role() == Role::kState) {
      take(node.outputs[0], node.outputs[0], static_cast<int>(n));
      continue;
    }
    const bool reads_state = std::any_of(node.inputs.begin(), node.inputs.end(),
                                         [&](int input) { return use.state[input] >= 0; });
    if (node.op->role() != Role::kCompute || !reads_state) continue;
    const Aliasing aliasing = node.op->aliasing(graph.SiteOf(node));
    for (const Aliasing::View& view : aliasing.views) {
      const int input = node.inputs[view.input];
      take(node.outputs[view.output], use.state[input], use.version[input]);
    }
    for (const Aliasing::Update& update : aliasing.updates) {
      const int state = use.state[node.inputs[update.input]];
      if (state < 0) continue;
      take(node.outputs[update.output], state, static_cast<int>(n));
      use.updates[n] = true;
    }
  }
  return use;
}

absl::Status CheckStateUse(const Graph& graph) {
  const StateUse use = FindStateUse(graph);
  std::vector<int> current(graph.vars().size(), -1);  // by state: its version so far
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const OperatorNode& node = graph.node(static_cast<int>(n));
    for (const int input : node.inputs) {
      const int state = use.state[input];
      if (state < 0 || use.version[input] == current[state]) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          Describe(node, kLongestUncheckedName), " reads the state ",
          graph.var(state).name.substr(0, kLongestUncheckedName), " as it was before ",
          Describe(graph.node(current[state]), kLongestUncheckedName), ", which updates it"));
    }
    for (const int output : node.outputs) {
      if (use.state[output] >= 0 && use.version[output] == static_cast<int>(n)) {
        current[use.state[output]] = static_cast<int>(n);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace ashlar
