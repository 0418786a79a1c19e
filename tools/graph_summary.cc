#include "tools/graph_summary.h"

namespace ashlar {

GraphSummary Summarize(const Graph& graph) {
  GraphSummary summary;
  for (const OperatorNode& node : graph.nodes()) {
    summary.operators[std::string(node.op->type())]++;
    switch (node.op->role()) {
      case Role::kState:
        summary.states.push_back(
            {node.name, static_cast<int>(&node - graph.nodes().data()), node.outputs[0]});
        break;
      case Role::kConstant:
        summary.num_constants++;
        summary.weights_bytes += graph.var(node.outputs[0]).type.bytes();
        break;
      case Role::kCompute: {
        summary.num_operators++;
        const Footprint footprint = FootprintOf(*node.op, graph.SiteOf(node));
        if (__builtin_add_overflow(summary.computation, footprint.computation,
                                   &summary.computation)) {
          summary.computation = INT64_MAX;
        }
        break;
      }
      case Role::kInput:
      case Role::kOutput:
        break;
    }
  }
  return summary;
}

void AddSummary(const Graph& graph, const GraphSummary& summary, Json& document) {
  document["inputs"] = BindingsJson(graph, graph.inputs());
  document["outputs"] = BindingsJson(graph, graph.outputs());
  document["states"] = BindingsJson(graph, summary.states);
  document["operators"] = Json::object();
  for (const auto& [type, count] : summary.operators) document["operators"][type] = count;
  document["computation"] = summary.computation;
  document["computation_flop"] = summary.computation;
  document["weights_bytes"] = summary.weights_bytes;
}

}  // namespace ashlar
