// Writes graphs for Graphviz.
#ifndef ASHLAR_TOOLS_REPORT_DOT_H_
#define ASHLAR_TOOLS_REPORT_DOT_H_

#include <string>

#include "graph/graph.h"

namespace ashlar {

// Returns a digraph: one box an operator, one arrow a value, with its shape. Constants are left
// out. Names may hold any bytes.
std::string DotText(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_DOT_H_
