// Finds the state vars of a graph and the nodes that change them.
//
// A state is the var of a Role::kState node. It persists across runs, and updates
// (Aliasing::Update) change it in place. The output of an update is the next version of the same
// state.
#ifndef ASHLAR_GRAPH_STATE_H_
#define ASHLAR_GRAPH_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace ashlar {

struct StateUse {
  // By var: the var of its state, through views and updates; -1 if it is no state.
  std::vector<int> state;
  // By state var: the node that made this version, either the Role::kState node or an update;
  // otherwise -1.
  std::vector<int> version;
  std::vector<bool> updates;  // by node: changes a state
};

StateUse FindStateUse(const Graph& graph);

// InvalidArgument, naming the nodes, if one version of a state is updated twice, or if a node that
// reads it comes after the update.
absl::Status CheckStateUse(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STATE_H_
