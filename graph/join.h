// Joins the models of a pipeline into one graph: outputs of one are inputs of the next.
#ifndef ASHLAR_GRAPH_JOIN_H_
#define ASHLAR_GRAPH_JOIN_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Returns a graph of `first` followed by `second`. Each input of `second` reads the output of
// `first` with the same name. If no name matches, and `first` has one output and `second` one
// input, these are connected.
//
// An output of `first` that is read this way is no longer an output. All other outputs and all
// unconnected inputs stay. Ids are assigned anew. If both have a name, `first` keeps it and
// `second` gets "name:2". InvalidArgument if nothing matches, or if dtype or shape differ.
absl::StatusOr<Graph> Join(const Graph& first, const Graph& second);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_JOIN_H_
