// Which vars of a graph are state, and which nodes change it.
//
// A state is the var of a Role::kState node: it lives from run to run, and updates
// (Aliasing::Update) change it in place. The output of an update is the same state, one version on.
#ifndef ASHLAR_GRAPH_STATE_H_
#define ASHLAR_GRAPH_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"

namespace ashlar {

struct StateUse {
  // By var: the var of the state that it is, through views and updates; -1: none.
  std::vector<int> state;
  // By var that is state: the node that made this version of it, which is the Role::kState node or
  // an update; else -1.
  std::vector<int> version;
  std::vector<bool> updates;  // by node: changes a state
};

StateUse FindStateUse(const Graph& graph);

// InvalidArgument, naming the nodes, where one version of a state is updated twice, or where a node
// that reads it stands behind the update.
absl::Status CheckStateUse(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STATE_H_
