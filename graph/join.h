// Joins the models of a pipeline into one graph: outputs of one are inputs of the next.
#ifndef ASHLAR_GRAPH_JOIN_H_
#define ASHLAR_GRAPH_JOIN_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// An input of `second` in the joined graph: either it reads an output of `first` (index into its
// outputs()), or it is an input of this name.
struct JoinedInput {
  std::optional<int> output;
  std::string name;
};

// Returns, by index of the input of a second model, the index of the output of the first that it
// reads: the output with the same name. If no name matches, and the first has one output and the
// second one input, these are connected.
std::map<int, int> FindLinks(const std::vector<std::string>& outputs,
                             const std::vector<std::string>& inputs);

// Returns a graph of `first` followed by `second`, connected by FindLinks.
//
// An output of `first` that is read this way is no longer an output. All other outputs and all
// unconnected inputs stay: the first's before the second's, except around a model that converts
// tensors before another or after it, under the same names. These have the other's order. Ids are
// assigned anew. If both have a name, `first` keeps it and `second` gets "name:2". InvalidArgument
// if nothing matches, or if dtype or shape differ.
// `inputs` receives one entry for each of second.inputs(); may be null.
absl::StatusOr<Graph> Join(const Graph& first, const Graph& second,
                           std::vector<JoinedInput>* inputs = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_JOIN_H_
