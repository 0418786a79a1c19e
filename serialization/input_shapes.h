// Changes the input shapes of a model.
#ifndef ASHLAR_SERIALIZATION_INPUT_SHAPES_H_
#define ASHLAR_SERIALIZATION_INPUT_SHAPES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

using InputShapes = std::map<std::string, Shape>;  // by binding name

// Returns the graph with all shapes inferred again. Returns NotFound for an unknown input;
// InvalidArgument, naming the node, if the shapes do not fit together.
absl::StatusOr<Graph> WithInputShapes(const Graph& graph, const InputShapes& shapes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_INPUT_SHAPES_H_
