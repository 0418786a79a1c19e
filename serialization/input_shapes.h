// A model for inputs of other shapes than its own.
#ifndef ASHLAR_SERIALIZATION_INPUT_SHAPES_H_
#define ASHLAR_SERIALIZATION_INPUT_SHAPES_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

using InputShapes = std::map<std::string, Shape>;  // by binding name

// The same graph with all shapes inferred anew. NotFound for an input that there is not;
// InvalidArgument, naming the node, where the shapes do not go together.
absl::StatusOr<Graph> WithInputShapes(const Graph& graph, const InputShapes& shapes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_INPUT_SHAPES_H_
