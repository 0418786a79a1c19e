// The contents of a graph.
#ifndef ASHLAR_TOOLS_GRAPH_SUMMARY_H_
#define ASHLAR_TOOLS_GRAPH_SUMMARY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "tools/json_output.h"

namespace ashlar {

struct GraphSummary {
  std::map<std::string, int> operators;  // nodes by type
  int num_operators = 0;                 // nodes that compute: no constants, inputs or outputs
  int64_t computation = 0;               // scalar operations of all nodes
  int64_t weights_bytes = 0;             // of constants
  int num_constants = 0;
  std::vector<Binding> states;  // kept from run to run
};

GraphSummary Summarize(const Graph& graph);

// Adds the keys inputs, outputs, states, operators, computation and computation_flop,
// weights_bytes.
void AddSummary(const Graph& graph, const GraphSummary& summary, Json& document);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_GRAPH_SUMMARY_H_
