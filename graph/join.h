// Models of a pipeline as one graph: outputs of one are inputs of the next.
#ifndef ASHLAR_GRAPH_JOIN_H_
#define ASHLAR_GRAPH_JOIN_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// `first`, and behind it `second`. An input of the second reads the output of the first that has
// its name; where no name matches, and the first has one output and the second one input, it reads
// that. An output that is read that way is no output of the whole. Inputs that nothing feeds, and
// the other outputs, stay; ids are given anew, and a name that both have is taken by the first
// ("name:2" for the second). InvalidArgument where nothing matches, or dtype or shape differ.
absl::StatusOr<Graph> Join(const Graph& first, const Graph& second);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_JOIN_H_
